import type { JsonValue } from "@bufbuild/protobuf";
import type { Client, QueryArrayResult } from "pg";
import { CanceledError, RequestError, type TradewireError } from "../../base/errors/index.js";
import { onAbort } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import { loadPackages } from "../sinks/postgres/postgres-connections.js";
import { isServerError, queryError, type ServerError } from "../sinks/postgres/postgres-errors.js";
import { parseTarget, type Target } from "../sinks/postgres/postgres-target.js";
import { NOTHING_TO_CLOSE } from "./duckdb-sources.js";
import {
  assertStatement,
  distinctNames,
  type QueryDatabase,
  type QuerySource,
  splitExplain,
  timeText,
} from "./query-database.js";

/** The number of rows that are fetched at a time. */
const FETCH_ROWS = 1000;
/** How often the server checks during a statement whether the command is still connected, in milliseconds. */
const LOOK_MS = 2000;

/**
 * Returns the source of a PostgreSQL database. A statement runs in a transaction that is read-only, and is declared as a cursor, which
 * the server accepts for one SELECT only.
 *
 * @param url the database
 * @param options the schema whose tables need no prefix, and the maximum time of a statement
 * @throws {@link RequestError} if the URL or the schema is invalid
 */
export function postgresSource(
  url: string,
  {
    schema = "public",
    timeoutMs = 0,
  }: { readonly schema?: string | undefined; readonly timeoutMs?: number | undefined },
): QuerySource {
  const target = parseTarget(url, schema);
  return { open: (_, signal) => openPostgres(target, timeoutMs, signal), ...NOTHING_TO_CLOSE };
}

async function openPostgres(target: Target, timeoutMs: number, signal: AbortSignal): Promise<QueryDatabase> {
  const { makeClient } = await loadPackages();
  throwIfAborted(signal);
  const client = makeClient("connect" in target.pool ? {} : target.pool);
  client.on("error", () => undefined); // The running statement fails, too.
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= client.end().catch(() => undefined);
    return ending;
  };
  const stop = onAbort(signal, () => void end());

  /** Runs work. `before` is the number of characters that are sent before the statement; without it, the work is not the statement's. */
  async function running<T>(work: () => Promise<T>, before?: number): Promise<T> {
    throwIfAborted(signal);
    try {
      return await work();
    } catch (reason) {
      if (signal.aborted) {
        throw new CanceledError({ cause: reason });
      }
      throw before === undefined
        ? queryError(reason, target.name, target.secrets)
        : statementError(reason, target, before);
    }
  }
  const close = async () => {
    stop();
    await end();
  };
  try {
    await running(async () => {
      await client.connect();
      await client.query(beginSql(target, timeoutMs));
    });
  } catch (reason) {
    await close();
    throw reason;
  }
  return {
    gaps: [],
    async query(sql) {
      assertStatement(sql);
      const { explain, statement } = splitExplain(sql);
      await running(() => extended(client, `${DECLARE}${statement}`), DECLARE.length - explain.length);
      const fetch = () => running(() => extended(client, `FETCH ${FETCH_ROWS} FROM tradewire_query`), 0);
      // A cursor cannot have a plan, but the server has now accepted the statement for one.
      let part = await (explain === "" ? fetch() : running(() => extended(client, sql), 0));
      const columns = distinctNames(part.fields.map(({ name }) => name));
      async function* batches() {
        for (; part.rows.length > 0; part = await fetch()) {
          yield { rows: part.rows };
          if (explain !== "") {
            return;
          }
        }
      }
      return { columns, batches };
    },
    async names() {
      const found = await running(() => extended(client, NAMES));
      return found.rows.map(([name]) => String(name));
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The statement follows in a new line. */
const DECLARE = "DECLARE tradewire_query NO SCROLL CURSOR FOR\n";

function beginSql({ within }: Target, timeoutMs: number): string {
  return [
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    `SET LOCAL search_path TO ${within}`,
    "SET LOCAL client_encoding TO 'UTF8'",
    "SET LOCAL datestyle TO 'ISO, YMD'",
    "SET LOCAL timezone TO 'UTC'",
    "SET LOCAL bytea_output TO 'hex'",
    `SET LOCAL statement_timeout TO ${timeoutMs}`,
    // Other systems may refuse it.
    `SELECT set_config('client_connection_check_interval', '${LOOK_MS}', true) WHERE version() ~ 'linux|darwin|bsd'`,
  ].join("; ");
}

const NAMES = `SELECT DISTINCT name FROM (
  SELECT table_name AS name FROM information_schema.columns WHERE table_schema = current_schema()
  UNION ALL SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()
  UNION ALL SELECT routine_name || '(' FROM information_schema.routines WHERE routine_schema = current_schema()
) AS names ORDER BY name`;

/** Runs one statement by the extended protocol, which accepts no second one behind it that could end the transaction. */
async function extended(client: Client, text: string): Promise<QueryArrayResult<JsonValue[]>> {
  const query = { text, rowMode: "array" as const, queryMode: "extended", types: { getTypeParser } };
  return await client.query<JsonValue[]>(query);
}

/** The types whose values are not text, by their oid: numbers of at most 53 bits, flags, bytes and times. */
const PARSERS: ReadonlyMap<number, (text: string) => JsonValue> = new Map<number, (text: string) => JsonValue>([
  [16, (text) => text === "t"], // bool
  ...[21, 23, 26, 700, 701].map((oid) => [oid, numberOf] as const), // int2, int4, oid, float4, float8
  [17, (text) => text.replace(/^\\x/u, "")], // bytea
  ...[1114, 1184].map((oid) => [oid, timeText] as const), // timestamp, timestamptz
]);

function numberOf(text: string): JsonValue {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function getTypeParser(oid: number): (value: unknown) => JsonValue {
  const parse = PARSERS.get(oid);
  return (value) => (parse === undefined ? String(value) : parse(String(value)));
}

/** Classes of SQLSTATE that a statement causes: data, transactions that only read, syntax and names, and rights. */
const OF_STATEMENT = /^(?:0A|22|25|34|42|P0)/u;

function statementError(reason: unknown, { name, secrets }: Target, before: number): TradewireError {
  if (!isServerError(reason) || !OF_STATEMENT.test(reason.code)) {
    return queryError(reason, name, secrets);
  }
  const { hint, place } = placeOf(reason, before);
  return new RequestError(`${reason.message.replaceAll(/\s+/gu, " ")}${place}`, { advice: hint, cause: reason });
}

/** Returns the hint of the server, and where in the statement the error is. */
function placeOf(reason: ServerError, before: number): { readonly hint: string | undefined; readonly place: string } {
  const hint = "hint" in reason && typeof reason.hint === "string" ? reason.hint : undefined;
  const position = "position" in reason ? Number(reason.position) - before : 0;
  return { hint, place: position > 0 ? ` (at character ${position})` : "" };
}
