import { type Command, Option } from "commander";
import { CanceledError } from "../../errors/index.js";
import { runWorker } from "../../sync/queue/index.js";
import { keepCovered } from "../../sync/watch/keep-covered.js";
import { createSyncState } from "../../sync/watch/state.js";
import { type CommandContext, isTerminated, json, size } from "../output.js";
import { openClients, type SyncClientOptions, syncClientOptions } from "../sync/clients.js";
import { grouped } from "../sync/figures.js";
import {
  type HowOptions,
  howOptions,
  type LimitOptions,
  limitOptions,
  type WatchCommandOptions,
  watchOptions,
} from "../sync/options.js";
import { createReporter } from "../sync/reporter.js";
import { postgresOf, readTarget, type TargetOptions, targetOptions } from "../sync/target.js";
import { watching } from "../sync/watching.js";
import { wholeNumber } from "../whole-number.js";

interface WorkerCommandOptions
  extends TargetOptions,
    Pick<HowOptions, "parallel" | "unknownColumns">,
    LimitOptions,
    WatchCommandOptions,
    SyncClientOptions {
  readonly exportsPerNode?: number;
  readonly json?: boolean;
}

/** The options of `sync` that a worker has, too. */
const SHARED = ["--parallel", "--unknown-columns"];

/**
 * Add the command `sync worker`, which loads the units of a queue until it is stopped.
 *
 * @param sync the command `sync`, to which it is added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSyncWorker(sync: Command, context: CommandContext): void {
  const command = sync
    .command("worker")
    .allowExcessArguments(false)
    .description(
      "Load what `tradewire sync --queue` has put into the queue, on any number of machines, until stopped.",
    );
  const own = [
    ...targetOptions(),
    ...howOptions().filter(({ long }) => long != null && SHARED.includes(long)),
    new Option("--exports-per-node <count>", "exports of a node by all workers at once (default: 4)").argParser(
      wholeNumber,
    ),
    ...limitOptions(),
    ...watchOptions(),
    new Option("--json", "print a JSON object for each event and, last, for the summary"),
  ];
  for (const option of [...own, ...syncClientOptions()]) {
    command.addOption(option);
  }
  command.action((options: WorkerCommandOptions) => run(options, context));
}

async function run(options: WorkerCommandOptions, context: CommandContext): Promise<void> {
  const { out, signal } = context;
  const { parallel, unknownColumns, callsPerSecond, exportsPerNode } = options;
  const sink = postgresOf(readTarget(options, context), "a worker");
  const state = createSyncState();
  await using watch = await watching(options, state, { signal });
  const reporter = createReporter(state, options.json === true, context, { worker: true });
  try {
    if (watch !== undefined) {
      reporter.notes.write(`See ${watch.url} for how it goes.\n`);
    }
    await using nodes = openClients(options, { notes: reporter.notes, environment: context.environment });
    const leave = watch === undefined ? () => {} : keepCovered(state, sink, { signal });
    const done = await runWorker(nodes.clients, {
      ...{ sink, parallel, unknownColumns, callsPerSecond, exportsPerNode, signal },
      countExports: !nodes.overGrpc,
      hooks: { onEvent: reporter.take },
    }).finally(leave);
    reporter.end();
    const what = `${grouped(done.rows)} rows of ${grouped(done.units)} units, ${size(Number(done.bytes))} of CSV`;
    out.write(
      options.json === true
        ? json({ event: "summary", ...done })
        : `Stopped. Loaded ${what}; units under way were put back.\n`,
    );
  } finally {
    reporter.end();
  }
  if (!isTerminated(signal)) {
    throw new CanceledError({ cause: signal.reason });
  }
}
