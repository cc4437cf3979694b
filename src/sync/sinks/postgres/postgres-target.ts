import { readFileSync } from "node:fs";
import type { Pool, PoolConfig } from "pg";
import { quoted } from "../../../base/errors/error-text.js";
import { RequestError } from "../../../base/errors/index.js";
import { invalidValueError } from "../../../base/input/assert.js";
import { identifier } from "../../sink-columns.js";

/** A PostgreSQL database, and a schema in it. */
export interface Target {
  /** The name in messages, without the password. */
  readonly name: string;
  /** The caller's pool, which the sink does not close; or the configuration of a pool. */
  readonly pool: Pool | PoolConfig;
  readonly schema: string;
  /** The schema, quoted for SQL. */
  readonly within: string;
  /** Roles that may own objects of the schema, in addition to the connection's role and superusers. */
  readonly trustedOwners: readonly string[];
  /** Texts to mask in messages. */
  readonly secrets: readonly string[];
}

/** The maximum number of connections of a sink. One is reserved for short changes; units wait for one of the others. */
const MAX_CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_AFTER_MS = 30_000;
/** The maximum length of an identifier of PostgreSQL, in bytes. It truncates longer ones. */
const MAX_IDENTIFIER = 63;

/**
 * Parses the target of a PostgreSQL sink. Missing parts of a URL are taken from libpq's environment variables, as `pg` does.
 *
 * @throws {@link RequestError} if the URL or the name is invalid; the message does not contain the URL
 */
export function parseTarget(
  target: string | PostgresPool,
  schema: string,
  trustedOwners: readonly string[] = [],
): Target {
  if (typeof schema !== "string") {
    throw invalidValueError("schema", schema, 'a string such as "history"');
  }
  const length = Buffer.byteLength(schema);
  if (length === 0 || length > MAX_IDENTIFIER || schema.includes("\0") || /^pg_/iu.test(schema)) {
    throw new RequestError(`invalid schema name ${quoted(schema)}`, {
      advice: `Use a name of 1 to ${MAX_IDENTIFIER} bytes that does not start with pg_.`,
    });
  }
  const suffix = schema === "public" ? "" : `, schema ${quoted(schema)}`;
  const place = { schema, within: identifier(schema), trustedOwners };
  if (typeof target !== "string") {
    if (!isPool(target)) {
      throw new RequestError("a PostgreSQL sink needs a URL or a pool", {
        advice: "Use a URL such as postgres://user@host:5432/database, or a Pool of the package pg.",
      });
    }
    const { connectionString, host, port, database } = target.options;
    const url = connectionString === undefined ? undefined : parseUrl(connectionString);
    const name = url === undefined ? addressOf(host, port, database) : placeOf(url);
    const { password } = target.options;
    return { name: name + suffix, pool: target, ...place, secrets: secretsOf(url, password) };
  }
  const url = parseUrl(target);
  const pool: PoolConfig = {
    connectionString: checkTlsFiles(url) ? target : String(url),
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: connectTimeout(),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    allowExitOnIdle: true,
    fallback_application_name: "tradewire",
    ...rootCertificate(url),
  };
  return { name: placeOf(url) + suffix, pool, ...place, secrets: secretsOf(url, process.env["PGPASSWORD"]) };
}

/** Reports whether a value is a pool of `pg`, by the members that a sink uses. */
function isPool(target: PostgresPool | undefined): target is Pool {
  return typeof target?.options === "object" && [target.connect, target.on].every((use) => typeof use === "function");
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // An "@" after the host comes from a password that is not percent-encoded; the parsed host is then a part of the password.
  const isEncoded = url !== undefined && !`${url.pathname}${url.search}${url.hash}`.includes("@") && url.hash === "";
  if (!isEncoded || !/^postgres(ql)?:$/u.test(url.protocol)) {
    throw new RequestError("invalid PostgreSQL URL", {
      advice:
        "Use a URL such as postgres://user@host:5432/database. In a password, percent-encode characters such as / # ? @ (%2F, %23, %3F, %40), or use PGPASSWORD or ~/.pgpass instead.",
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
  const inUrl = url === undefined ? [] : [url.password, decoded(url.password), url.searchParams.get("password") ?? ""];
  return [...new Set([...inUrl, ...(typeof password === "string" ? [password] : [])])].filter((text) => text !== "");
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
 * Reads the TLS files of a URL, since `pg` would report an unreadable file like an unreachable server. Removes the authority
 * `system` of libpq from the URL, for which Node uses its own authorities.
 */
function checkTlsFiles({ searchParams }: URL): boolean {
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

/** Returns the root certificate of PGSSLROOTCERT: `pg` reads PGSSLMODE, but not this variable. */
function rootCertificate({ searchParams }: URL): Pick<PoolConfig, "ssl"> {
  const { PGSSLMODE, PGSSLROOTCERT } = process.env;
  const isRequested = PGSSLMODE !== undefined && /^(prefer|require|verify-ca|verify-full)$/u.test(PGSSLMODE);
  const inUrl = ["ssl", "sslmode", "sslrootcert"].some((name) => searchParams.has(name));
  if (!isRequested || inUrl || PGSSLROOTCERT === undefined || PGSSLROOTCERT === "" || PGSSLROOTCERT === "system") {
    return {};
  }
  return { ssl: { ca: readPem(PGSSLROOTCERT, "PGSSLROOTCERT") } };
}

function readPem(path: string, of: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new RequestError(`cannot read the file ${quoted(path)} of ${of}`, {
      advice: "Use the path of a readable PEM file, or remove it.",
      cause,
    });
  }
}

/** The members of a pool of the package `pg` that a sink uses, so that only users of `pg` need its types. */
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
