import { RequestError } from "../../../errors/index.js";

/**
 * Load the packages that PostgreSQL is spoken to with. They are optional peers.
 *
 * @returns `pg`, and what makes a COPY of `pg-copy-streams`
 * @throws {@link RequestError} where one is not installed
 */
export async function loadPackages() {
  const [pg, { from }] = await Promise.all([
    import("pg").catch((reason: unknown) => missing("pg", reason)),
    import("pg-copy-streams").catch((reason: unknown) => missing("pg-copy-streams", reason)),
  ]);
  return { Pool: pg.Pool, Client: pg.Client, copyFrom: from };
}

/** What {@link loadPackages} returns. */
export type Packages = Awaited<ReturnType<typeof loadPackages>>;

function missing(name: string, cause: unknown): never {
  throw new RequestError(`the package ${name} cannot be loaded, which a sync into PostgreSQL needs`, {
    advice: "Install it: npm install pg pg-copy-streams",
    cause,
  });
}
