import type { Client } from "pg";
import { isTableName } from "../../schema/tables.js";
import { wait } from "../../signal/wait.js";
import type { TableSurvey } from "../sink.js";
import type { Tell } from "../tell.js";
import type { NodeHistory } from "../unit.js";
import type { Database } from "./database.js";
import { jittered, type Pace } from "./pace.js";

/**
 * Note what the leader has found, so that workers can tell it without comparing anything themselves.
 *
 * @param db the queue
 * @param client the connection that holds the lead
 * @param tables how the tables stand
 */
export async function notePlan(db: Database, client: Client, tables: readonly TableSurvey[]): Promise<void> {
  const plan = JSON.stringify(tables, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  await client.query(`UPDATE ${db.schema}.tradewire_queue SET plan = $1`, [plan]);
}

/** Who tells what the leader has found. */
export interface PlanTelling {
  readonly tell: Tell;
  /** What the worker's nodes have. */
  readonly history: () => NodeHistory;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/**
 * Tell what the leader has found, now and whenever it has changed; one row is read for it now and then.
 *
 * @param db the queue
 * @param telling who is told
 * @returns once the signal is aborted
 */
export async function keepTelling(db: Database, { tell, history, pace, signal }: PlanTelling): Promise<void> {
  let told = "";
  while (!signal.aborted) {
    try {
      const sql = `SELECT plan FROM ${db.schema}.tradewire_queue`;
      const [row] = await db.query<{ plan: string | null }>("looking at the plan", sql);
      if (row?.plan != null && row.plan !== told) {
        told = row.plan;
        tell({ case: "planned", history: history(), tables: tablesIn(told) });
      }
      await wait(jittered(pace.listMs), signal);
    } catch {
      // The database cannot be reached, which those who load tell of; or the signal was aborted.
      await wait(jittered(pace.beatMs), signal).catch(() => undefined);
    }
  }
}

/** What is no survey, as something else has written it, is left out. */
function tablesIn(text: string): TableSurvey[] {
  const plan: unknown = JSON.parse(text);
  return Array.isArray(plan) ? plan.flatMap(surveyIn) : [];
}

function surveyIn(given: unknown): TableSurvey[] {
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
