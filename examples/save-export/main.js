// @ts-check
// Saves a table of network history as one archive, checked to its last byte:
//   TRADEWIRE_GRPC_URL=https://node.example:3007 node main.js TABLE FROM_BLOCK TO_BLOCK FOLDER
// Fetches four parts at once. After a stop or a crash, run it again to resume.
import { join } from "node:path";
import { CanceledError, createClient, loadConfig, tableNames } from "tradewire";

const [name = "trades", from = "1", to = "1000", folder = "archives"] = process.argv.slice(2);

const stop = new AbortController();
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.once(signal, () => stop.abort());
}

/** @param {string} text */
function blockOf(text) {
  if (!/^\d{1,18}$/.test(text)) {
    throw new Error(`${text} is not a block number\nPass the first and the last block of the range, such as 1 1000.`);
  }
  return BigInt(text);
}

async function main() {
  const table = tableNames.find((known) => known === name);
  if (table === undefined) {
    throw new Error(`unknown table ${name}\nValid tables: ${tableNames.join(", ")}.`);
  }
  const client = createClient(loadConfig().config);
  try {
    const request = { table, fromBlock: blockOf(from), toBlock: blockOf(to) };
    const exported = client.exportNetworkHistory(request, { signal: stop.signal });
    // The parts stay in a separate folder until the archive is complete.
    const resume = join(folder, `${table}-${from}-${to}.parts`);
    const { path, bytes, sha256 } = await exported.saveTo(join(folder, "/"), { parallel: 4, resume });
    console.log(`${path}: ${bytes} bytes, SHA-256 ${sha256}`);
  } finally {
    await client.close();
  }
}

try {
  await main();
} catch (reason) {
  if (reason instanceof CanceledError) {
    console.error("stopped\nStart it again, and it goes on from here.");
    process.exitCode = 130;
  } else {
    console.error(reason instanceof Error ? reason.message : reason); // What went wrong, and then what to do.
    process.exitCode = 1;
  }
}
