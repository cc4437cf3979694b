import { type Command, Option } from "commander";
import type { CommandContext } from "../output.js";
import { syncClientOptions } from "../sync/clients.js";
import { dryRun } from "../sync/dry-run.js";
import { howOptions, limitOptions, rangeOptions, watchOptions } from "../sync/options.js";
import { runSync, type SyncCommandOptions } from "../sync/run.js";
import { targetOptions } from "../sync/target.js";
import { addSyncCompact } from "./sync-compact.js";
import { addSyncStatus } from "./sync-status.js";
import { addSyncVerify } from "./sync-verify.js";
import { addSyncWorker } from "./sync-worker.js";

/**
 * Add the command `sync`, which brings network history into tables, and those below it that look at them.
 *
 * @param sync the command `sync`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSync(sync: Command, context: CommandContext): void {
  sync
    // The commands below have options of the same names.
    .enablePositionalOptions();
  const own = [
    ...targetOptions(),
    ...rangeOptions(),
    ...howOptions(),
    new Option(
      "--create-indexes <when>",
      "whether tables of PostgreSQL get their keys with the first rows or after them",
    ).choices(["with", "after"]),
    new Option(
      "--indexes <which>",
      "whether tables of PostgreSQL get keys alone, or, after the first load, also indexes for usual questions (default: query)",
    ).choices(["keys", "query"]),
    new Option("--named-views", "make views with names in place of codes, such as trades_named"),
    new Option("--queue", "put what is missing into a queue on PostgreSQL, for `tradewire sync worker`"),
    new Option("--retry-failed", "with --queue: put units that were given up back first"),
    ...limitOptions(),
    ...watchOptions(),
    new Option("--dry-run", "show what would be fetched, and change nothing"),
    new Option("--json", "print a JSON object for each event and, last, for the summary"),
  ];
  for (const option of [...own, ...syncClientOptions()]) {
    sync.addOption(option);
  }
  sync.allowExcessArguments().action(async (options: SyncCommandOptions, { args: [unknown] }: Command) => {
    if (unknown !== undefined) {
      sync.error(`error: unknown command '${unknown}'`);
    }
    await (options.dryRun === true ? dryRun : runSync)(options, context);
  });
  addSyncStatus(sync, context);
  addSyncVerify(sync, context);
  addSyncWorker(sync, context);
  addSyncCompact(sync, context);
}
