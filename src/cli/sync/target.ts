import { Option } from "commander";
import { RequestError } from "../../errors/index.js";
import { nearest } from "../../errors/nearest.js";
import { quoted } from "../../errors/quoted.js";
import type { Sink } from "../../sync/sink.js";
import { duckdbSink } from "../../sync/sinks/duckdb/duckdb-sink.js";
import { parquetSink } from "../../sync/sinks/parquet/parquet-sink.js";
import { type PostgresSink, postgresSink } from "../../sync/sinks/postgres/postgres-sink.js";
import type { Streams } from "../output.js";
import { repeated } from "./clients.js";

/** The values of {@link targetOptions}. */
export interface TargetOptions {
  readonly to?: string;
  readonly toEnv?: string;
  readonly schema?: string;
  readonly trustOwner?: readonly string[];
}

/** Where the tables go. */
export interface Target {
  readonly kind: "duckdb" | "parquet" | "postgres";
  /** A path, or the URL of PostgreSQL, which may hold a password where it came from the environment. */
  readonly place: string;
  /** The schema in PostgreSQL; its default where it is left out. */
  readonly schema?: string | undefined;
  /** Roles that may own it; of PostgreSQL. */
  readonly trustedOwners?: readonly string[] | undefined;
}

const FORMS =
  "Give one of: --to duckdb:history.duckdb (a DuckDB file), --to parquet:folder/ (a folder of Parquet files), --to postgres://user@host/database.";
const SECRET_ADVICE =
  "Other users of the machine can read arguments. Leave the password to PGPASSWORD or ~/.pgpass, or put the whole URL into an environment variable and name it with --to-env.";

/**
 * Create the options that say where the tables go. None takes a password, because other users of a machine can read
 * arguments.
 *
 * @returns the options
 */
export function targetOptions(): Option[] {
  return [
    new Option("--to <target>", "duckdb:FILE, parquet:FOLDER or postgres://user@host/database"),
    new Option(
      "--to-env <name>",
      "environment variable that holds the target, in place of --to; it may hold a password",
    ),
    new Option(
      "--schema <name>",
      "schema in PostgreSQL that holds the tables (default: public); a schema holds a chain",
    ),
    new Option(
      "--trust-owner <role>",
      "role of PostgreSQL, besides your own and superusers, that may own the schema; may be given several times",
    ).argParser(repeated),
  ];
}

/**
 * Read where the tables go.
 *
 * @param options the values of the options
 * @param context the environment variables
 * @returns the target
 * @throws {@link RequestError} where it is missing, is of no known form, or has a password in the arguments. No message
 *   holds a password
 */
export function readTarget(
  { to, toEnv, schema, trustOwner }: TargetOptions,
  { environment }: Pick<Streams, "environment">,
): Target {
  if (to !== undefined && toEnv !== undefined) {
    throw new RequestError("--to and --to-env are both given", { advice: "Give one of them." });
  }
  const text = toEnv === undefined ? to : environment[toEnv];
  if (text === undefined || text === "") {
    const where = toEnv === undefined ? "there is no --to: a sync needs a place for the tables" : "it is not set";
    throw new RequestError(toEnv === undefined ? where : `--to-env ${quoted(toEnv)}: ${where}`, { advice: FORMS });
  }
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*):(.*)$/isu.exec(text) ?? [];
  if (/^postgres(ql)?$/iu.test(scheme)) {
    return { ...postgresTarget(text, schema, toEnv === undefined), trustedOwners: trustOwner };
  }
  const kind = (["duckdb", "parquet"] as const).find((name) => name === scheme.toLowerCase());
  if (kind === undefined) {
    throw unknownForm(text, scheme);
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

/** How a sink is made of a target. */
export interface SinkChoices {
  readonly createIndexes?: "with" | "after" | undefined;
  /** Whether the tables of PostgreSQL get keys alone, or also the indexes that usual questions need. */
  readonly indexes?: "keys" | "query" | undefined;
  readonly namedViews?: boolean | undefined;
}

/**
 * Make the sink of a target. Nothing is opened.
 *
 * @param target the target
 * @param choices views and indexes, for the sinks that have them
 * @returns the sink
 * @throws {@link RequestError} where the target has no such thing
 */
export function sinkOf(target: Target, choices: SinkChoices = {}): Sink {
  const { kind, place } = target;
  const { createIndexes, indexes, namedViews } = choices;
  if (kind === "postgres") {
    return postgresOf(target, "", choices);
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
 * Make the sink of a target that has to be PostgreSQL.
 *
 * @param target the target
 * @param what needs it, for the error, such as `--queue`
 * @param choices views and indexes
 * @returns the sink
 * @throws {@link RequestError} where it is not
 */
export function postgresOf(
  { kind, place, schema, trustedOwners }: Target,
  what: string,
  choices: SinkChoices = {},
): PostgresSink {
  if (kind !== "postgres") {
    throw new RequestError(`${what} needs PostgreSQL, and the target is ${kind}`, {
      advice: "Give --to postgres://user@host/database, or leave it out.",
    });
  }
  const { createIndexes, namedViews } = choices;
  return postgresSink(place, { schema, createIndexes, namedViews, trustedOwners });
}

function postgresTarget(text: string, schema: string | undefined, inArguments: boolean): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Where a password was not percent-encoded, the URL cannot be read, or has an "@" behind what looks like its host.
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
  // What cannot be read is left to the sink, whose error does not show it.
  return { kind: "postgres", place: inUrl === undefined ? text : String(url), schema: schema ?? inUrl };
}

function unknownForm(text: string, scheme: string): RequestError {
  if (scheme === "" && /\.(duckdb|ddb|db)$/iu.test(text)) {
    return new RequestError(`--to ${quoted(text)} does not say what kind of place it is`, {
      advice: `Did you mean --to duckdb:${text}?`,
    });
  }
  const near = scheme === "" ? undefined : nearest(scheme, ["duckdb", "parquet", "postgres", "postgresql"]);
  // Only what stands before the colon is shown: a password may stand behind it.
  const found =
    scheme === ""
      ? "the target is of no known form"
      : `the target begins with ${quoted(`${scheme}:`)}, which is no form of a target`;
  return new RequestError(found, { advice: near === undefined ? FORMS : `Did you mean ${near}:? ${FORMS}` });
}
