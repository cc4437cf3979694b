// Tests the built package against a real network of v0.78.0. See CONTRIBUTING.md, "Against the real network".
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandCases } from "./commands.mjs";
import { coreAloneCases } from "./core-alone.mjs";
import { eventCases } from "./events.mjs";
import { historyCases } from "./history.mjs";
import { killedDataNodeCases } from "./killed-data-node.mjs";
import { latencyCases } from "./latency.mjs";
import { listingCases } from "./listings.mjs";
import { createMarket } from "./market.mjs";
import { methodCases } from "./methods.mjs";
import { NoNetworkError, openNetwork } from "./network.mjs";
import { readOptions, UsageError } from "./options.mjs";
import { createRecording } from "./recording.mjs";
import { refusalCases } from "./refusals.mjs";
import { createReport } from "./report.mjs";
import { stopOrderCases } from "./stop-orders.mjs";
import { wrongRequestCases } from "./wrong-requests.mjs";

/** The groups, in their order: what ends the network is last. */
const GROUPS = [
  latencyCases,
  refusalCases,
  commandCases,
  stopOrderCases,
  coreAloneCases,
  listingCases,
  methodCases,
  wrongRequestCases,
  eventCases,
  historyCases,
  killedDataNodeCases,
];

/** The exit code after Ctrl-C, by the shells' convention. */
const INTERRUPTED = 130;

async function main() {
  const options = readOptions(process.argv.slice(2), process.env);
  const network = await openNetwork(options);
  const folder = await mkdtemp(join(tmpdir(), "tradewire-network-"));
  const report = createReport(options);
  const recording = createRecording(options.record, network.chainId);
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new Error("interrupted"));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    const setting = {
      network,
      options,
      folder,
      report,
      recording,
      market: createMarket(network),
      signal: interrupted.signal,
    };
    for (const make of GROUPS) {
      for (const one of make(setting)) {
        await report.run(one, setting);
      }
    }
    await recording.write();
  } finally {
    await network.close();
    await rm(folder, { recursive: true, force: true });
  }
  const passed = report.finish(network);
  process.exitCode = interrupted.signal.aborted ? INTERRUPTED : Number(!passed);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError || error instanceof NoNetworkError)) {
    throw error;
  }
  console.error(error.message);
  process.exitCode = 2;
}
process.exit();
