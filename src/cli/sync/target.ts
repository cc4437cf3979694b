import { closestName, quoted } from "../../errors/error-text.js";
import { RequestError } from "../../errors/index.js";
import { duckdbSink, type PostgresSink, parquetSink, postgresSink, type Sink } from "../../sync/index.js";
import { choice, flag, type OptionValues, repeatedText, text } from "../declarations.js";
import type { Streams } from "../output.js";

/**
 * The options that say which sink the tables go to. None takes a password, because other users of a machine can read
 * arguments.
 */
export const targetOptions = {
  to: text("<target>", "duckdb:FILE, parquet:FOLDER or postgres://user@host/database", {
    completions: () => ({ values: ["duckdb:", "parquet:", "postgres://"] }),
  }),
  toEnv: text("<name>", "environment variable that holds the target, in place of --to; it may hold a password"),
  schema: text("<name>", "schema in PostgreSQL that holds the tables (default: public); a schema holds a chain"),
  trustOwner: repeatedText(
    "<role>",
    "role of PostgreSQL, besides your own and superusers, that may own the schema; may be given several times",
  ),
};

/** The options that say how the tables are made. */
export const sinkOptions = {
  createIndexes: choice("<when>", "whether tables of PostgreSQL get their keys with the first rows or after them", [
    "with",
    "after",
  ]),
  indexes: choice(
    "<which>",
    "whether tables of PostgreSQL get keys alone, or, after the first load, also indexes for usual questions (default: query)",
    ["keys", "query"],
  ),
  namedViews: flag("make views with names in place of codes, such as trades_named"),
};

export type TargetOptions = OptionValues<typeof targetOptions>;
export type SinkOptions = OptionValues<typeof sinkOptions>;

/** The place of the tables, as the command line names it. */
export interface Target {
  readonly kind: "duckdb" | "parquet" | "postgres";
  /** A path, or the URL of PostgreSQL, which may hold a password where it came from the environment. */
  readonly place: string;
  /** The schema in PostgreSQL; its default where it is left out. */
  readonly schema?: string | undefined;
  /** Roles that may own the schema in PostgreSQL. */
  readonly trustedOwners?: readonly string[] | undefined;
}

const FORMS =
  "Give one of: --to duckdb:history.duckdb (a DuckDB file), --to parquet:folder/ (a folder of Parquet files), --to postgres://user@host/database.";
const SECRET_ADVICE =
  "Other users of the machine can read arguments. Leave the password to PGPASSWORD or ~/.pgpass, or put the whole URL into an environment variable and name it with --to-env.";

/**
 * Reads the target of a sync.
 *
 * @param options the values of the options
 * @param context the environment variables
 * @returns the target
 * @throws {@link RequestError} if it is missing, has no known form, or holds a password in the arguments. No message holds
 *   a password
 */
export function readTarget(
  { to, toEnv, schema, trustOwner }: TargetOptions,
  { environment }: Pick<Streams, "environment">,
): Target {
  if (to !== undefined && toEnv !== undefined) {
    throw new RequestError("--to and --to-env are both given", { advice: "Give one of them." });
  }
  const target = toEnv === undefined ? to : environment[toEnv];
  if (target === undefined || target === "") {
    const where = toEnv === undefined ? "there is no --to: a sync needs a place for the tables" : "it is not set";
    throw new RequestError(toEnv === undefined ? where : `--to-env ${quoted(toEnv)}: ${where}`, { advice: FORMS });
  }
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*):(.*)$/isu.exec(target) ?? [];
  if (/^postgres(ql)?$/iu.test(scheme)) {
    return { ...postgresTarget(target, schema, toEnv === undefined), trustedOwners: trustOwner };
  }
  const kind = (["duckdb", "parquet"] as const).find((name) => name === scheme.toLowerCase());
  if (kind === undefined) {
    throw unknownForm(target, scheme);
  }
  if (rest === "") {
    throw new RequestError(`--to ${kind}: names no ${kind === "duckdb" ? "file" : "folder"}`, { advice: FORMS });
  }
  if (trustOwner !== undefined) {
    throw new RequestError(`--trust-owner is for PostgreSQL, and the target is ${kind}`, { advice: "Leave it out." });
  }
  if (schema !== undefined) {
    throw new RequestError(`--schema is for PostgreSQL, and the target is ${kind}`, { advice: "Leave it out." });
  }
  return { kind, place: rest };
}

/**
 * Creates the sink of a target. Nothing is opened.
 *
 * @param target the target
 * @param options views and indexes
 * @returns the sink
 * @throws {@link RequestError} if sinks of that kind have no such views or indexes
 */
export function sinkOf(target: Target, options: SinkOptions = {}): Sink {
  const { kind, place } = target;
  const { createIndexes, indexes, namedViews } = options;
  if (kind === "postgres") {
    return postgresOf(target, "", options);
  }
  if (indexes !== undefined) {
    throw new RequestError(`--indexes is for PostgreSQL, and the target is ${kind}`, { advice: "Leave it out." });
  }
  if (createIndexes !== undefined) {
    throw new RequestError(`--create-indexes is for PostgreSQL, and the target is ${kind}`, {
      advice: "Leave it out.",
    });
  }
  if (kind === "duckdb") {
    return duckdbSink(place, { namedViews });
  }
  if (namedViews === true) {
    throw new RequestError("--named-views is for databases, and the target is a folder of files", {
      advice: "Leave it out.",
    });
  }
  return parquetSink(place);
}

/**
 * Creates the sink of a target that must be PostgreSQL.
 *
 * @param target the target
 * @param what the subject of the error, such as `--queue`
 * @param options views and indexes
 * @returns the sink
 * @throws {@link RequestError} if the target is not PostgreSQL
 */
export function postgresOf(
  { kind, place, schema, trustedOwners }: Target,
  what: string,
  options: SinkOptions = {},
): PostgresSink {
  if (kind !== "postgres") {
    throw new RequestError(`${what} needs PostgreSQL, and the target is ${kind}`, {
      advice: "Give --to postgres://user@host/database, or leave it out.",
    });
  }
  const { createIndexes, namedViews } = options;
  return postgresSink(place, { schema, createIndexes, namedViews, trustedOwners });
}

function postgresTarget(target: string, schema: string | undefined, inArguments: boolean): Target {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  // If a password is not percent-encoded, the URL cannot be parsed, or has an "@" behind what looks like the host.
  const doubtful = url === undefined || `${url.pathname}${url.search}${url.hash}`.includes("@");
  if (inArguments && (doubtful || url.password !== "" || url.searchParams.has("password"))) {
    const what = doubtful ? "cannot be read, and may hold a password" : "holds a password";
    throw new RequestError(`the URL of --to ${what}`, { advice: SECRET_ADVICE });
  }
  const inUrl = url?.searchParams.get("schema") ?? undefined;
  if (inUrl !== undefined && schema !== undefined && inUrl !== schema) {
    throw new RequestError(`the URL names the schema ${quoted(inUrl)}, and --schema ${quoted(schema)}`, {
      advice: "Give one of them.",
    });
  }
  url?.searchParams.delete("schema");
  // The sink refuses a URL that cannot be parsed, with an error that does not show it.
  return { kind: "postgres", place: inUrl === undefined ? target : String(url), schema: schema ?? inUrl };
}

function unknownForm(target: string, scheme: string): RequestError {
  if (scheme === "" && /\.(duckdb|ddb|db)$/iu.test(target)) {
    return new RequestError(`--to ${quoted(target)} does not say what kind of place it is`, {
      advice: `Did you mean --to duckdb:${target}?`,
    });
  }
  const near = scheme === "" ? undefined : closestName(scheme, ["duckdb", "parquet", "postgres", "postgresql"]);
  // Only the scheme is shown: a password may follow it.
  const found =
    scheme === ""
      ? "the target is of no known form"
      : `the target begins with ${quoted(`${scheme}:`)}, which is no form of a target`;
  return new RequestError(found, { advice: near === undefined ? FORMS : `Did you mean ${near}:? ${FORMS}` });
}
