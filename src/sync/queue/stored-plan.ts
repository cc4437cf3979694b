import type { Client } from "pg";
import { wait } from "../../base/signal/wait.js";
import { isTableName } from "../../data/schema/table-names.js";
import { jsonReplacer } from "../../wire/json/json-values.js";
import type { CoverageComparison, TableRange, TableSummary } from "../sink.js";
import type { ReportEvent } from "../sync-events.js";
import type { NodeHistory } from "../unit.js";
import type { QueueDatabase } from "./queue-database.js";
import { jittered, type QueueTimings } from "./queue-options.js";

/** Stores the result of the leader's comparison, so that workers can report it without comparing again. */
export async function storePlan(
  db: QueueDatabase,
  client: Client,
  { tables, gaps }: Pick<CoverageComparison, "tables" | "gaps">,
): Promise<void> {
  const plan = JSON.stringify({ tables, gaps }, jsonReplacer);
  await client.query(`UPDATE ${db.schema}.tradewire_queue SET plan = $1`, [plan]);
}

export interface PlanReportOptions {
  readonly report: ReportEvent;
  /** Returns what the worker's nodes have. */
  readonly history: () => NodeHistory;
  readonly timings: QueueTimings;
  readonly signal: AbortSignal;
}

/** Reports the stored plan, and each change of it. One row is polled. */
export async function reportPlans(
  db: QueueDatabase,
  { report, history, timings, signal }: PlanReportOptions,
): Promise<void> {
  let reported = "";
  while (!signal.aborted) {
    try {
      const sql = `SELECT plan FROM ${db.schema}.tradewire_queue`;
      const [row] = await db.query<{ plan: string | null }>("reading the plan", sql);
      if (row?.plan != null && row.plan !== reported) {
        reported = row.plan;
        report({ kind: "planned", history: history(), ...parsePlan(reported) });
      }
      await wait(jittered(timings.listingMs), signal);
    } catch {
      // The database is unreachable, which those who load report; or the signal was aborted.
      await wait(jittered(timings.heartbeatMs), signal).catch(() => undefined);
    }
  }
}

/** Leaves out what is neither a summary nor a gap, as another program may have written it. */
function parsePlan(text: string): Pick<CoverageComparison, "tables" | "gaps"> {
  const { fields } = parseFields(JSON.parse(text));
  const list = (name: string) => {
    const value = fields.get(name);
    return Array.isArray(value) ? value : [];
  };
  return { tables: list("tables").flatMap(parseSummary), gaps: list("gaps").flatMap(parseGap) };
}

function parseFields(given: unknown) {
  const fields = new Map<string, unknown>(typeof given === "object" && given !== null ? Object.entries(given) : []);
  const count = (name: string) => {
    const value = fields.get(name);
    return typeof value === "string" && /^\d{1,30}$/u.test(value) ? BigInt(value) : undefined;
  };
  return { fields, count };
}

function parseGap(given: unknown): TableRange[] {
  const { fields, count } = parseFields(given);
  const [table, fromBlock, toBlock] = [fields.get("table"), count("fromBlock"), count("toBlock")];
  return typeof table === "string" && isTableName(table) && fromBlock !== undefined && toBlock !== undefined
    ? [{ table, fromBlock, toBlock }]
    : [];
}

function parseSummary(given: unknown): TableSummary[] {
  const { fields, count } = parseFields(given);
  const table = fields.get("table");
  const [units, rows, bytes, missing] = [count("units"), count("rows"), count("bytes"), count("missing")];
  const gapBlocks = count("gapBlocks");
  const [fromBlock, toBlock] = [count("fromBlock"), count("toBlock")];
  if (
    typeof table !== "string" ||
    !isTableName(table) ||
    units === undefined ||
    rows === undefined ||
    bytes === undefined ||
    missing === undefined ||
    gapBlocks === undefined
  ) {
    return [];
  }
  const ends = { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
  return [{ table, units, rows, bytes, missing, gapBlocks, ...ends }];
}
