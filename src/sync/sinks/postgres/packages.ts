import type { Client, Pool, PoolConfig } from "pg";
import { RequestError } from "../../../errors/index.js";
import { SEARCH_PATH } from "./trust.js";

/**
 * Load the packages that PostgreSQL is spoken to with. They are optional peers.
 *
 * @returns what makes pools and connections of `pg`, and a COPY of `pg-copy-streams`
 * @throws {@link RequestError} where one is not installed
 */
export async function loadPackages() {
  const [pg, { from }] = await Promise.all([
    import("pg").catch((reason: unknown) => missing("pg", reason)),
    import("pg-copy-streams").catch((reason: unknown) => missing("pg-copy-streams", reason)),
  ]);
  /**
   * Has the safe search path before its first statement. A start that fails on this side, as without a password, leaves a
   * connection open that would keep the process alive.
   */
  class EndingClient extends pg.Client {
    constructor(...options: ConstructorParameters<typeof pg.Client>) {
      super(...options);
      // A connection can be lost before the pool listens to it, and without a listener its error would end the process.
      // Its statement fails, too.
      this.on("error", () => undefined);
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      if (callback === undefined) {
        return super.connect();
      }
      super.connect((error: Error) => {
        if (error) {
          this.end().catch(() => undefined);
          callback(error);
          return;
        }
        this.query(`SET search_path TO ${SEARCH_PATH}`).then(
          () => callback(error),
          (reason: Error) => {
            this.end().catch(() => undefined);
            callback(reason);
          },
        );
      });
      return undefined;
    }
  }
  const makePool = (config: PoolConfig): Pool => new pg.Pool({ ...config, Client: EndingClient });
  return { makePool, Client: pg.Client, copyFrom: from };
}

/** What {@link loadPackages} returns. */
export type Packages = Awaited<ReturnType<typeof loadPackages>>;

function missing(name: string, cause: unknown): never {
  throw new RequestError(`the package ${name} cannot be loaded, which a sync into PostgreSQL needs`, {
    advice: "Install it: npm install pg pg-copy-streams",
    cause,
    section: "requesterror-missing-package",
  });
}
