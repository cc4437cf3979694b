import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { closestName, quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { fileError, hasErrorCode } from "../../base/errors/node-errors.js";
import { duckdbSink, type PostgresSink, parquetSink, postgresSink, type Sink } from "../../sync/index.js";
import { choice, flagOf, type OptionValues, text, textList } from "../declarations.js";
import type { Streams } from "../output.js";
import { viewsOption } from "../shared-options.js";

/**
 * The options that select the sink. No option accepts a password, because other users of a machine can read arguments.
 */
export const targetOptions = {
  to: text("<target>", "where to save: duckdb:FILE, parquet:FOLDER or postgres://user@host/database", {
    completions: () => ({ values: ["duckdb:", "parquet:", "postgres://"] }),
  }),
  toEnv: text("<name>", "environment variable with the target, instead of --to; the target may contain a password"),
  schema: text("<name>", "PostgreSQL schema of the tables (default: public); each chain needs its own"),
  trustOwner: textList("<role>", "PostgreSQL role that may own the schema, in addition to your own and superusers"),
};

/** The options that say how the tables are created. */
export const sinkOptions = {
  createIndexes: choice("<when>", "create the keys of PostgreSQL tables with the first rows, or after the first load", [
    "with",
    "after",
  ]),
  indexes: choice(
    "<which>",
    "create only keys in PostgreSQL or, after the first load, also indexes for common queries (default: query)",
    ["keys", "query"],
  ),
  views: viewsOption,
};

export type TargetOptions = OptionValues<typeof targetOptions>;
export type SinkOptions = OptionValues<typeof sinkOptions>;

/** The location of the tables, as named on the command line. */
export interface SyncTarget {
  readonly kind: "duckdb" | "parquet" | "postgres";
  /** A path, or the URL of PostgreSQL, which may contain a password if it comes from the environment. */
  readonly place: string;
  /** The schema in PostgreSQL; the default if undefined. */
  readonly schema?: string | undefined;
  /** Roles that may own the schema in PostgreSQL. */
  readonly trustedOwners?: readonly string[] | undefined;
}

const forms = (flag: string) =>
  `Use ${flag} duckdb:history.duckdb (a DuckDB file), ${flag} parquet:folder/ (a folder of Parquet files) or ${flag} postgres://user@host/database.`;
const secretAdvice = (flag: string) =>
  `Other users of this machine can read arguments. Put the password into PGPASSWORD or ~/.pgpass, or put the URL into an environment variable and use ${flag}-env.`;

/**
 * Reads the target of a sync, or what is queried in place of it.
 *
 * @param flag the option that names it, as `--to`; with `-env` behind it, the one that names the environment variable
 * @throws {@link RequestError} if it is missing, has an unknown form, or contains a password in the arguments. No message
 *   contains a password
 */
export function readTarget(
  { to, toEnv, schema, trustOwner }: TargetOptions,
  { environment }: Pick<Streams, "environment">,
  flag = "--to",
): SyncTarget {
  if (to !== undefined && toEnv !== undefined) {
    throw new RequestError(`${flag} and ${flag}-env cannot be combined`, { advice: "Use one of them." });
  }
  const target = toEnv === undefined ? to : environment[toEnv];
  if (target === undefined || target === "") {
    const where =
      toEnv === undefined
        ? `${flag} is missing: a sync needs a target for the tables`
        : "the environment variable is not set";
    throw new RequestError(toEnv === undefined ? where : `${flag}-env ${quoted(toEnv)}: ${where}`, {
      advice: forms(flag),
    });
  }
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*):(.*)$/isu.exec(target) ?? [];
  if (/^postgres(ql)?$/iu.test(scheme)) {
    return { ...postgresTarget(target, schema, toEnv === undefined, flag), trustedOwners: trustOwner };
  }
  const kind = (["duckdb", "parquet"] as const).find((name) => name === scheme.toLowerCase());
  if (kind === undefined) {
    throw unknownForm(target, scheme, flag);
  }
  if (rest === "") {
    throw new RequestError(`${flag} ${kind}: has no ${kind === "duckdb" ? "file" : "folder"}`, { advice: forms(flag) });
  }
  assertPostgresOnly(kind, { trustOwner, schema });
  return { kind, place: rest };
}

function assertPostgresOnly(kind: SyncTarget["kind"], options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) {
      throw new RequestError(`${flagOf(name)} applies only to PostgreSQL, but the target is ${kind}`, {
        advice: "Remove the option.",
      });
    }
  }
}

/**
 * Returns whether the file or folder of a target exists. Databases on a server are not checked.
 *
 * @throws {@link FileError} if the folder that contains it does not exist, or it cannot be accessed
 */
export async function targetExists({ kind, place }: SyncTarget): Promise<boolean> {
  if (kind === "postgres") {
    return true;
  }
  try {
    await stat(place);
    return true;
  } catch (reason) {
    if (!hasErrorCode(reason, "ENOENT")) {
      throw fileError(reason, place);
    }
  }
  const folder = dirname(place);
  await stat(folder).catch((reason: unknown) => {
    throw fileError(reason, folder, { ENOENT: "Check --to, or create the folder." });
  });
  return false;
}

/**
 * Creates the sink of a target. Nothing is opened.
 *
 * @throws {@link RequestError} if sinks of that kind have no such views or indexes
 */
export function sinkOf(target: SyncTarget, options: SinkOptions = {}): Sink {
  const { kind, place } = target;
  const { createIndexes, indexes, views } = options;
  if (kind === "postgres") {
    return postgresOf(target, "", options);
  }
  assertPostgresOnly(kind, { indexes, createIndexes });
  if (kind === "duckdb") {
    return duckdbSink(place, { views });
  }
  if (views !== undefined) {
    throw new RequestError("--views applies only to databases, but the target is a folder of files", {
      advice: "Remove the option.",
    });
  }
  return parquetSink(place);
}

/**
 * Creates the sink of a target that must be PostgreSQL.
 *
 * @throws {@link RequestError} if the target is not PostgreSQL
 */
export function postgresOf(
  { kind, place, schema, trustedOwners }: SyncTarget,
  what: string,
  options: SinkOptions = {},
): PostgresSink {
  if (kind !== "postgres") {
    throw new RequestError(`${what} needs PostgreSQL, but the target is ${kind}`, {
      advice: "Use --to postgres://user@host/database, or remove the option.",
    });
  }
  const { createIndexes, views } = options;
  return postgresSink(place, { schema, createIndexes, views, trustedOwners });
}

function postgresTarget(target: string, schema: string | undefined, inArguments: boolean, flag: string): SyncTarget {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  // If a password is not percent-encoded, the URL cannot be parsed, or has an "@" after what looks like the host.
  const doubtful = url === undefined || `${url.pathname}${url.search}${url.hash}`.includes("@");
  if (inArguments && (doubtful || url.password !== "" || hasSecretParameter(url))) {
    const what = doubtful ? "cannot be parsed and may contain a password" : "contains a password";
    throw new RequestError(`the URL of ${flag} ${what}`, { advice: secretAdvice(flag) });
  }
  const inUrl = url?.searchParams.get("schema") ?? undefined;
  if (inUrl !== undefined && schema !== undefined && inUrl !== schema) {
    throw new RequestError(`the URL names the schema ${quoted(inUrl)}, but --schema is ${quoted(schema)}`, {
      advice: "Use one of them.",
    });
  }
  url?.searchParams.delete("schema");
  // The sink refuses a URL that cannot be parsed, with an error that does not show it.
  return { kind: "postgres", place: inUrl === undefined ? target : String(url), schema: schema ?? inUrl };
}

/** The parameters of a URL of PostgreSQL that are secret: https://www.postgresql.org/docs/17/libpq-connect.html#LIBPQ-PARAMKEYWORDS */
const SECRET_PARAMETERS: ReadonlySet<string> = new Set(["password", "sslpassword", "oauth_client_secret"]);

function hasSecretParameter({ searchParams }: URL): boolean {
  return [...searchParams.keys()].some((name) => SECRET_PARAMETERS.has(name.toLowerCase()));
}

function unknownForm(target: string, scheme: string, flag: string): RequestError {
  if (scheme === "" && /\.(duckdb|ddb|db)$/iu.test(target)) {
    return new RequestError(`${flag} ${quoted(target)} does not specify the kind of target`, {
      advice: `Did you mean ${flag} duckdb:${target}?`,
    });
  }
  const near = scheme === "" ? undefined : closestName(scheme, ["duckdb", "parquet", "postgres", "postgresql"]);
  // Only the scheme is shown: a password may follow it.
  const found =
    scheme === ""
      ? "the form of the target is unknown"
      : `the target begins with ${quoted(`${scheme}:`)}, which is not supported`;
  return new RequestError(found, {
    advice: near === undefined ? forms(flag) : `Did you mean ${near}:? ${forms(flag)}`,
  });
}
