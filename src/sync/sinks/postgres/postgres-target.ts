import { readFileSync } from "node:fs";
import type { Pool, PoolConfig } from "pg";
import { quoted } from "../../../errors/error-text.js";
import { RequestError } from "../../../errors/index.js";
import { identifier } from "../sink-columns.js";

/** Which PostgreSQL, and which schema in it. */
export interface Target {
  /** For people, without the password. */
  readonly name: string;
  /** The pool that was given, which is not ended; or how one is made. */
  readonly pool: Pool | PoolConfig;
  readonly schema: string;
  /** The schema as SQL writes it, before a dot and a name. */
  readonly within: string;
  /** Roles that may own what is in the schema, besides the connection's own and superusers. */
  readonly trustedOwners: readonly string[];
  /** Texts that must not appear in messages. */
  readonly secrets: readonly string[];
}

/** Connections of a sink at once. One is for short changes; units that find the others taken wait for one. */
const MAX_CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_AFTER_MS = 30_000;
/** The longest identifier of PostgreSQL, in bytes. It cuts longer ones. */
const MAX_IDENTIFIER = 63;

/**
 * Read where a sink's PostgreSQL is. What a URL leaves out is taken from libpq's environment variables, as `pg` does.
 *
 * @param target a URL such as `postgres://me@db.example/history`, or a pool of `pg`
 * @param schema the schema's name, as it is
 * @param trustedOwners roles that may own what is in it
 * @returns the target
 * @throws {@link RequestError} where the URL or the name cannot be right; the URL is not in the message
 */
export function readTarget(
  target: string | PostgresPool,
  schema: string,
  trustedOwners: readonly string[] = [],
): Target {
  if (typeof schema !== "string") {
    throw new RequestError("the name of the schema is no text", { advice: 'Give one such as "history".' });
  }
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER || schema.includes("\0") || /^pg_/iu.test(schema)) {
    throw new RequestError(`${quoted(schema)} cannot be the name of a schema`, {
      advice: `Give a name of 1 to ${MAX_IDENTIFIER} bytes that does not begin with pg_.`,
    });
  }
  const called = schema === "public" ? "" : `, schema ${quoted(schema)}`;
  const place = { schema, within: identifier(schema), trustedOwners };
  if (typeof target !== "string") {
    if (!isPool(target)) {
      throw new RequestError("a PostgreSQL sink has neither a URL nor a pool", {
        advice: "Give a URL such as postgres://user@host:5432/database, or a Pool of the package pg.",
      });
    }
    const { connectionString, host, port, database } = target.options;
    const url = connectionString === undefined ? undefined : readUrl(connectionString);
    const name = url === undefined ? addressOf(host, port, database) : placeOf(url);
    const { password } = target.options;
    return { name: name + called, pool: target, ...place, secrets: secretsOf(url, password) };
  }
  const url = readUrl(target);
  const pool: PoolConfig = {
    connectionString: checkFiles(url) ? target : String(url),
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: connectTimeout(),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    allowExitOnIdle: true,
    fallback_application_name: "tradewire",
    ...rootCertificate(url),
  };
  return { name: placeOf(url) + called, pool, ...place, secrets: secretsOf(url, process.env["PGPASSWORD"]) };
}

/** Whether it is one of `pg`, by what a sink uses of it. */
function isPool(target: PostgresPool | undefined): target is Pool {
  return typeof target?.options === "object" && [target.connect, target.on].every((use) => typeof use === "function");
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An "@" behind the host is that of a password which was not encoded: the host is then a part of it.
  const encoded = url !== undefined && !`${url.pathname}${url.search}${url.hash}`.includes("@") && url.hash === "";
  if (!encoded || !/^postgres(ql)?:$/u.test(url.protocol)) {
    throw new RequestError("the URL of PostgreSQL cannot be read", {
      advice:
        "Give one such as postgres://user@host:5432/database. In a password, write characters such as / # ? @ percent-encoded (%2F, %23, %3F, %40), or leave it to PGPASSWORD or ~/.pgpass.",
    });
  }
  return url;
}

function placeOf({ hostname, port, pathname, searchParams }: URL): string {
  return addressOf(searchParams.get("host") ?? hostname, searchParams.get("port") ?? port, pathname.slice(1));
}

function addressOf(host: string | undefined, port: string | number | undefined, database: string | undefined): string {
  const { PGHOST, PGPORT, PGDATABASE } = process.env;
  const at = `${host || PGHOST || "localhost"}:${port || PGPORT || 5432}`;
  return `postgres://${at}/${database || PGDATABASE || ""}`;
}

function secretsOf(url: URL | undefined, password: unknown): string[] {
  const given = url === undefined ? [] : [url.password, decoded(url.password), url.searchParams.get("password") ?? ""];
  return [...new Set([...given, ...(typeof password === "string" ? [password] : [])])].filter((text) => text !== "");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function connectTimeout(): number {
  const seconds = Number(process.env["PGCONNECT_TIMEOUT"]);
  return Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : CONNECT_TIMEOUT_MS;
}

/**
 * Check that the files of TLS which a URL names can be read: `pg` would tell it as if the server were away. The
 * authorities of the system, which libpq calls `system`, are those of Node.
 *
 * @returns whether the URL is as it was given
 */
function checkFiles({ searchParams }: URL): boolean {
  const ofSystem = searchParams.get("sslrootcert") === "system";
  if (ofSystem) {
    searchParams.delete("sslrootcert");
  }
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const path = searchParams.get(name);
    if (path !== null) {
      readPem(path, `${name} in the URL`);
    }
  }
  return !ofSystem;
}

/** `pg` reads PGSSLMODE, but not PGSSLROOTCERT. */
function rootCertificate({ searchParams }: URL): Pick<PoolConfig, "ssl"> {
  const { PGSSLMODE, PGSSLROOTCERT } = process.env;
  const asked = PGSSLMODE !== undefined && /^(prefer|require|verify-ca|verify-full)$/u.test(PGSSLMODE);
  const inUrl = ["ssl", "sslmode", "sslrootcert"].some((name) => searchParams.has(name));
  if (!asked || inUrl || PGSSLROOTCERT === undefined || PGSSLROOTCERT === "" || PGSSLROOTCERT === "system") {
    return {};
  }
  return { ssl: { ca: readPem(PGSSLROOTCERT, "PGSSLROOTCERT") } };
}

function readPem(path: string, of: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new RequestError(`the file ${quoted(path)} of ${of} cannot be read`, {
      advice: "Give the path of a PEM file that can be read, or leave it out.",
      cause,
    });
  }
}

/** A pool of the package `pg`, as far as a sink needs to know it: its types are needed by those alone who use `pg`. */
export interface PostgresPool {
  readonly options: {
    readonly max: number;
    readonly connectionString?: string | undefined;
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly database?: string | undefined;
    readonly password?: unknown;
  };
  connect(): Promise<object>;
  on(event: "error", listener: (error: Error) => void): unknown;
}
