import { CanceledError } from "../../base/errors/index.js";
import { createSyncState, refreshCoverage, runWorker } from "../../sync/index.js";
import { reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues, parsed } from "../declarations.js";
import { grouped, size } from "../formatting.js";
import { type CommandContext, isTerminated, json } from "../output.js";
import { eventsOutput, printsJsonLines } from "../output-format.js";
import { parseInteger } from "../parsers.js";
import { createReporter } from "../sync/reporter.js";
import {
  callsPerSecondOption,
  httpOptions,
  loadingOptions,
  openClients,
  startStatusServer,
} from "../sync/sync-options.js";
import { postgresOf, readTarget, targetOptions } from "../sync/target.js";

const workerOptions = {
  ...targetOptions,
  parallel: loadingOptions.parallel,
  unknownColumns: loadingOptions.unknownColumns,
  exportsPerNode: parsed("<count>", "concurrent exports per node, of all workers together (default: 4)", parseInteger),
  callsPerSecond: callsPerSecondOption,
  ...httpOptions,
  ...eventsOutput,
  ...clientOptions,
};

type WorkerCommandOptions = OptionValues<typeof workerOptions>;

/** Defines the command `sync worker`, which loads the units of a queue until it is stopped. */
export const addSyncWorker = defineCommand(workerOptions, run);

async function run(options: WorkerCommandOptions, context: CommandContext): Promise<void> {
  const { out, output, signal } = context;
  output.role = "answer";
  const { parallel, unknownColumns, callsPerSecond, exportsPerNode } = options;
  const sink = postgresOf(readTarget(options, context), "sync worker");
  const state = createSyncState();
  await using watch = await startStatusServer(options, state, { signal });
  const reporter = createReporter(state, printsJsonLines(options, context), context, { worker: true });
  try {
    if (watch !== undefined) {
      reporter.notes.write(`Status page: ${watch.url}\n`);
    }
    await using nodes = openClients(options, reportsTo(reporter.notes, context));
    const leave = watch === undefined ? () => {} : refreshCoverage(state, sink, { signal });
    const done = await runWorker(nodes.clients, {
      ...{ sink, parallel, unknownColumns, callsPerSecond, exportsPerNode, signal },
      countExports: !nodes.overGrpc,
      hooks: { onEvent: reporter.onEvent },
    }).finally(leave);
    reporter.end();
    const what = `${grouped(done.rows)} rows from ${grouped(done.units)} exports, ${size(Number(done.bytes))} of CSV`;
    out.write(
      printsJsonLines(options, context)
        ? json({ event: "summary", ...done })
        : `Stopped. Loaded ${what}; exports in flight were returned to the queue.\n`,
    );
  } finally {
    reporter.end();
  }
  if (!isTerminated(signal)) {
    throw new CanceledError({ cause: signal.reason });
  }
}
