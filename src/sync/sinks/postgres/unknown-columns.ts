import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import { retry } from "../../../base/signal/wait.js";
import { csvName } from "../../../data/archive/export-names.js";
import { reportUnknown } from "../../../data/archive/typed-rows.js";
import type { TableName } from "../../../data/schema/table-names.js";
import type { SinkOpening } from "../../sink.js";
import { assertAddable, assertAddedCount, FROM_BLOCK, identifier, sinkColumns, targetOf } from "../../sink-columns.js";
import type { Unit } from "../../unit.js";
import { columnsOf } from "./postgres-catalog.js";
import type { Connections } from "./postgres-connections.js";
import { isServerError } from "./postgres-errors.js";

/** Adds the columns and values that a newer node sends. */
export interface UnknownColumns {
  /**
   * Returns the table's columns for those of a CSV file. Missing columns are added, each in a short transaction of its
   * own, because a change of a table waits for loads, and loads wait for the change.
   */
  columns(unit: Unit, names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Adds the enum value that a COPY has failed for. Returns whether that was the cause: the unit can then be loaded
   * again.
   */
  value(unit: Unit, reason: unknown, signal: AbortSignal): Promise<boolean>;
}

/** Maximum number of enum values that are added to a type. */
const MAX_ADDED_VALUES = 200;
/** How long a change is retried while the table is being loaded, and how long each attempt may block loads. */
const CHANGE_RETRY_MS = 5 * 60_000;
const CHANGE_LOCK_MS = 1000;
const CHANGE_PAUSE_MS = 500;
/** Maximum length of an enum value, in bytes. */
const MAX_VALUE = 63;

/** Creates the handler of columns and values that this release does not know. */
export function createUnknownColumns(
  connections: Connections,
  within: string,
  { onUnknown, unknownColumns }: SinkOpening,
): UnknownColumns {
  const reports = new Map<TableName, ReturnType<typeof reportUnknown>>();
  const there = new Map<TableName, Promise<Set<string>>>();

  /** Reports each column once. */
  function report(unit: Unit, column: string, value?: string): void {
    const { table } = unit;
    const report = reports.get(table) ?? reportUnknown(onUnknown, { file: csvName(unit), table });
    reports.set(table, report);
    report(column, value);
  }

  return {
    async columns(unit, names, signal) {
      const { table } = unit;
      const targets = names.map((name) => targetOf(table, name)?.name ?? name);
      const unknown = names.filter((name) => targetOf(table, name) === undefined);
      if (unknown.length === 0) {
        return targets;
      }
      for (const name of unknown) {
        report(unit, name);
        assertAddable(table, name);
        if (unknownColumns === "fail") {
          throw refused(table, `the column ${quoted(name)}`);
        }
      }
      let found = await (there.get(table) ?? readColumns(connections, within, table, signal));
      if (unknown.some((name) => !found.has(name))) {
        found = await readColumns(connections, within, table, signal); // Another sync may have added them.
      }
      const lacking = unknown.filter((name) => !found.has(name));
      if (lacking.length > 0) {
        assertAddedCount(table, found.size + lacking.length - sinkColumns(table).length - [FROM_BLOCK].length);
      }
      for (const name of lacking) {
        const statement = `ALTER TABLE ${within}.${table} ADD COLUMN IF NOT EXISTS ${identifier(name)} text`;
        await changeTable(connections, `adding a column to ${table}`, statement, signal);
        found.add(name);
      }
      there.set(table, Promise.resolve(found));
      return targets;
    },

    async value(unit, reason, signal) {
      const cause = reason instanceof SinkError ? reason.cause : reason;
      const found = unknownValue(unit.table, cause);
      if (found === undefined) {
        return false;
      }
      const { column, type, value } = found;
      report(unit, column, value);
      if (unknownColumns === "fail") {
        throw refused(unit.table, `${quoted(value)} in the column ${column}`);
      }
      const count = await countValues(connections, within, type, signal);
      if (count >= MAX_ADDED_VALUES || Buffer.byteLength(value) > MAX_VALUE) {
        throw tooMany(type);
      }
      const literal = `'${value.replaceAll("'", "''")}'`;
      const statement = `ALTER TYPE ${within}.${type} ADD VALUE IF NOT EXISTS ${literal}`;
      await changeTable(connections, `adding a value to ${type}`, statement, signal);
      return true;
    },
  };
}

function readColumns(
  connections: Connections,
  within: string,
  table: TableName,
  signal: AbortSignal,
): Promise<Set<string>> {
  return connections.transaction(`reading the columns of ${table}`, { signal, spare: true }, (client) =>
    columnsOf(client, within, table),
  );
}

function countValues(connections: Connections, within: string, type: string, signal: AbortSignal): Promise<number> {
  return connections.transaction(`reading ${type}`, { signal, spare: true }, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "SELECT count(*)::int FROM pg_enum WHERE enumtypid = $1::regtype",
      [`${within}.${type}`],
    );
    return rows[0]?.count ?? 0;
  });
}

/** Changes a table or a type. Retries while loads of the table prevent that. */
function changeTable(connections: Connections, what: string, statement: string, signal: AbortSignal): Promise<void> {
  const until = monotonicMs() + CHANGE_RETRY_MS;
  const change = () =>
    connections.transaction(what, { signal, spare: true }, async (client) => {
      await client.query(`SET LOCAL lock_timeout TO ${CHANGE_LOCK_MS}`);
      await client.query(statement);
    });
  const pauseAfter = (reason: unknown) => {
    if (!(reason instanceof SinkError) || reason.code !== Code.Aborted || monotonicMs() > until) {
      throw reason;
    }
    return CHANGE_PAUSE_MS;
  };
  return retry(change, pauseAfter, signal);
}

/**
 * Reads from an error of COPY which value an enum type lacks. The message may be in any language, but has the type and
 * then the value, in quotes; the context has the column.
 */
function unknownValue(table: TableName, reason: unknown) {
  if (!isServerError(reason) || reason.code !== "22P02" || reason.routine !== "enum_in") {
    return undefined;
  }
  for (const { name: column, type, values } of sinkColumns(table)) {
    const at = reason.message.indexOf(`${type}`);
    const [, value] =
      /^\W*?:\s*(?:"|«\s*|»|„|“|「)(.+?)(?:"|\s*»|«|“|”|」)$/su.exec(reason.message.slice(at + type.length)) ?? [];
    if (
      values !== undefined &&
      at >= 0 &&
      value !== undefined &&
      new RegExp(`\\b${column}\\b`, "u").test(reason.where ?? "")
    ) {
      return { column, type, value };
    }
  }
  return undefined;
}

function refused(table: TableName, what: string): SinkError {
  return new SinkError(`${what} of ${table} is unknown to this release`, {
    code: Code.Unimplemented,
    advice: "Install a newer release, or let unknown columns be added.",
  });
}

function tooMany(type: string): SinkError {
  return new SinkError(`the node sent too many or too long unknown values of ${type}`, {
    code: Code.FailedPrecondition, // The cause is the unit, and others may be loaded.
    advice: `At most ${MAX_ADDED_VALUES} values of ${MAX_VALUE} bytes can be added. Check the node, or install a newer release, which may know them.`,
  });
}
