// Exports over the HTTP gateway that fail: the connection is cut, the node fails in the middle, or it fails after it has closed the
// archive, as a node of v0.78.0 does when it cannot read a later segment. Counts how many of them count as complete: for
// `fetch` and JSZip, and for `saveTo`.
//
//   npm run build && node test/endurance/interrupted-exports.mjs [--exports 200] [--seed 1]
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import JSZip from "jszip";
import { createClient } from "../../dist/src/index.js";
import { startDevnode } from "../../dist/src/node/index.js";
import { createRandom } from "./soak/random.mjs";

const { values } = parseArgs({
  options: { exports: { type: "string", default: "200" }, seed: { type: "string", default: "1" } },
});
const count = Number(values.exports);
const random = createRandom(Number(values.seed));
const method = "ExportNetworkHistory";
const failures = {
  "connection cut": () => ({ method, with: "cut", afterBytes: random.below(300_000) }),
  "failure in the middle": () => ({ method, with: "INTERNAL", afterBytes: 1 + random.below(300_000) }),
  "failure after the archive": () => ({ method, with: "error-after-archive" }),
};

/** Whether a program that checks the status and opens the archive takes it for complete. */
async function acceptedByFetch(url) {
  try {
    const response = await fetch(`${url}/api/v2/networkhistory/export?fromBlock=1&toBlock=1000&table=TABLE_TRADES`);
    if (!response.ok) return false;
    const archive = await JSZip.loadAsync(await response.arrayBuffer());
    await Promise.all(Object.values(archive.files).map((file) => file.async("nodebuffer")));
    return true;
  } catch {
    return false;
  }
}

async function acceptedByClient(client, folder) {
  const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 });
  return exported.saveTo(folder, { force: true }).then(
    () => true,
    () => false,
  );
}

const folder = await mkdtemp(join(tmpdir(), "tradewire-interrupted-"));
const node = await startDevnode({ blockMs: 0 });
const client = createClient({ transport: "rest", rest: { url: node.restUrl }, retry: { tries: 1 } });
try {
  for (const [name, failure] of Object.entries(failures)) {
    const accepted = { fetch: 0, tradewire: 0 };
    for (let index = 0; index < count; index += 1) {
      const planned = failure();
      node.failNext(planned);
      accepted.fetch += Number(await acceptedByFetch(node.restUrl));
      node.failNext(planned);
      accepted.tradewire += Number(await acceptedByClient(client, `${folder}/`));
    }
    console.log(`${name}: of ${count}, fetch and JSZip accept ${accepted.fetch}, saveTo accepts ${accepted.tradewire}`);
  }
} finally {
  await client.close();
  await node.close();
  await rm(folder, { recursive: true });
}
