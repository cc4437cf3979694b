import { createTypesSql } from "../../schema/sql.js";
import { type TableName, tableNames } from "../../schema/tables.js";
import { partingError } from "../../sync/parting.js";
import { type HistoryPlan, planHistory } from "../../sync/plan.js";
import { sinkSchema } from "../../sync/sinks/columns.js";
import { newTableSql as duckdbTableSql } from "../../sync/sinks/duckdb/tables.js";
import { newTableSql as postgresTableSql } from "../../sync/sinks/postgres/tables.js";
import { type CommandContext, errorText, json, printable, Reported } from "../output.js";
import { createTables, type Tables } from "../terminal.js";
import { openClients } from "./clients.js";
import { grouped } from "./figures.js";
import { howOf } from "./options.js";
import { checkQueue, type SyncCommandOptions } from "./run.js";
import { readTarget, sinkOf, type Target } from "./target.js";

/**
 * Run `tradewire sync --dry-run`: show what would be fetched. Nothing is made or changed.
 *
 * @param options the values of the options
 * @param context the streams, and the signal that interrupts it
 * @throws {@link Reported} where the histories part, so that a sync would stop
 */
export async function dryRun(options: SyncCommandOptions, context: CommandContext): Promise<void> {
  const { out, err, signal } = context;
  const target = readTarget(options, context);
  const how = howOf(options);
  checkQueue(options, target);
  const sink = sinkOf(target, options);
  await using nodes = openClients(options, context);
  const plan = await planHistory(nodes.clients, { ...how, patienceMs: 0, sink, signal });
  if (options.json === true) {
    out.write(json({ event: "plan", ...plan, sql: tablesSql(target, how.tables ?? tableNames) }));
  } else {
    const tables = createTables(context);
    out.write(planText(plan, sink.name, tables.format));
    tables.tellLeftOut();
  }
  if (plan.parting !== undefined) {
    if (options.json !== true) {
      err.write(errorText(partingError(sink.name, plan.parting)));
    }
    throw new Reported();
  }
}

function planText(
  { chainId, blocks, segments, tables, foreign }: HistoryPlan,
  name: string,
  format: Tables["format"],
): string {
  const lines = tables.map((plan) => [plan.table, plan.units, plan.rows, plan.missing, plan.calls].map(String));
  const sum = (of: "units" | "rows" | "missing" | "calls") => tables.reduce((total, plan) => total + plan[of], 0n);
  const totals = ["all tables", ...[sum("units"), sum("rows"), sum("missing"), sum("calls")].map(String)];
  const where = blocks === undefined ? "" : `, blocks ${blocks.fromBlock} to ${blocks.toBlock}`;
  const replaced = foreign === 0n ? "" : `${grouped(foreign)} units of another history would be replaced or removed.\n`;
  return [
    `The node's chain ${printable(chainId)} has ${grouped(segments)} segments${where}.\n\n`,
    format(["table", "units there", "rows there", "segments missing", "exports"], [...lines, totals]),
    `\n${replaced}${grouped(sum("calls"))} exports would bring what is missing into ${printable(name)}. Nothing was changed.\n`,
  ].join("");
}

/** What makes the tables, where none is there yet; nothing for files. */
function tablesSql({ kind }: Target, tables: readonly TableName[]): string[] {
  if (kind === "postgres") {
    return [...createTypesSql(tables.map(sinkSchema), "postgres"), ...tables.map((table) => postgresTableSql(table))];
  }
  return kind === "duckdb" ? tables.map(duckdbTableSql) : [];
}
