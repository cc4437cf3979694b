import type { Client } from "pg";
import * as v from "valibot";
import { jsonObject } from "../../base/input/schemas.js";
import { wait } from "../../base/signal/wait.js";
import { tableNames } from "../../data/schema/table-names.js";
import { jsonReplacer } from "../../wire/json/json-values.js";
import type { CoverageComparison } from "../sink.js";
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

/** A number as it is written. */
const count = v.pipe(
  v.string(),
  v.regex(/^\d{1,30}$/u),
  v.transform((text) => BigInt(text)),
);
const table = v.picklist(tableNames);
const gapJson = jsonObject({ table, fromBlock: count, toBlock: count });
const summaryJson = jsonObject({
  table,
  units: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  rows: count,
  bytes: count,
  missing: count,
  gapBlocks: count,
  fromBlock: v.exactOptional(count),
  toBlock: v.exactOptional(count),
});

/** Leaves out what is neither a summary nor a gap, as another program may have written it. */
function parsePlan(text: string): Pick<CoverageComparison, "tables" | "gaps"> {
  const plan: unknown = JSON.parse(text);
  return { tables: listIn(plan, "tables", summaryJson), gaps: listIn(plan, "gaps", gapJson) };
}

function listIn<S extends v.GenericSchema>(plan: unknown, name: string, schema: S): v.InferOutput<S>[] {
  const list: unknown = Reflect.get(Object(plan), name);
  return (Array.isArray(list) ? list : []).flatMap((item: unknown) => {
    const parsed = v.safeParse(schema, item);
    return parsed.success ? [parsed.output] : [];
  });
}
