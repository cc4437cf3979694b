// Makes blocks in a folder, and prints the height of each one that is kept, until the process is killed. Checkpoints are
// written all the time.
import { openCheckpoints } from "../../compiled/src/node/checkpoint.js";
import { createControls } from "../../compiled/src/node/controls.js";
import { parseDevnodeOptions } from "../../compiled/src/node/devnode-options.js";
import { createFailureInjector } from "../../compiled/src/node/failure-injection.js";
import { openJournal } from "../../compiled/src/node/journal.js";
import { createLocalNetwork } from "../../compiled/src/node/local-network.js";

const [folder, given] = process.argv.slice(2);
const options = parseDevnodeOptions(JSON.parse(given));
const { settings, genesis } = options;
const journal = openJournal(folder, settings);
const checkpoints = openCheckpoints(folder, { settings, genesis }, journal, { maxReplayMs: 0.001, minWorkRatio: 0 });
const network = createLocalNetwork(options);
const controls = createControls(network, createFailureInjector([]), { journal, checkpoints }, () => false);
console.log(String(network.blocks.last().height));
for (;;) {
  console.log(String(await controls.makeBlock()));
  await new Promise((resolve) => setImmediate(resolve));
}
