import type { Client } from "pg";
import { isTableName } from "../../schema/table-names.js";
import { wait } from "../../signal/wait.js";
import type { TableSummary } from "../sink.js";
import type { ReportEvent } from "../sync-events.js";
import type { NodeHistory } from "../unit.js";
import type { QueueDatabase } from "./queue-database.js";
import { jittered, type QueueTimings } from "./queue-options.js";

/**
 * Stores the result of the leader's comparison, so that workers can report it without comparing again.
 *
 * @param db the queue
 * @param client the connection that holds the leadership
 * @param tables the state of the tables
 */
export async function storePlan(db: QueueDatabase, client: Client, tables: readonly TableSummary[]): Promise<void> {
  const plan = JSON.stringify(tables, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  await client.query(`UPDATE ${db.schema}.tradewire_queue SET plan = $1`, [plan]);
}

/** Where stored plans are reported. */
export interface PlanReportOptions {
  readonly report: ReportEvent;
  /** Returns what the worker's nodes have. */
  readonly history: () => NodeHistory;
  readonly timings: QueueTimings;
  readonly signal: AbortSignal;
}

/**
 * Reports the stored plan, and each change of it. One row is polled.
 *
 * @param db the queue
 * @param options where it is reported, and what cancels it
 * @returns once the signal is aborted
 */
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
        report({ kind: "planned", history: history(), tables: parsePlan(reported) });
      }
      await wait(jittered(timings.listingMs), signal);
    } catch {
      // The database is unreachable, which those who load report; or the signal was aborted.
      await wait(jittered(timings.heartbeatMs), signal).catch(() => undefined);
    }
  }
}

/** Leaves out what is not a summary, as another program may have written it. */
function parsePlan(text: string): TableSummary[] {
  const plan: unknown = JSON.parse(text);
  return Array.isArray(plan) ? plan.flatMap(parseSummary) : [];
}

function parseSummary(given: unknown): TableSummary[] {
  const fields = new Map<string, unknown>(typeof given === "object" && given !== null ? Object.entries(given) : []);
  const count = (name: string) => {
    const value = fields.get(name);
    return typeof value === "string" && /^\d{1,30}$/u.test(value) ? BigInt(value) : undefined;
  };
  const table = fields.get("table");
  const [units, rows, bytes, missing] = [count("units"), count("rows"), count("bytes"), count("missing")];
  const [fromBlock, toBlock] = [count("fromBlock"), count("toBlock")];
  if (
    typeof table !== "string" ||
    !isTableName(table) ||
    units === undefined ||
    rows === undefined ||
    bytes === undefined ||
    missing === undefined
  ) {
    return [];
  }
  const ends = { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
  return [{ table, units, rows, bytes, missing, ...ends }];
}
