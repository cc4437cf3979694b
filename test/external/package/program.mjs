// Does what users do, beside the local node of TRADEWIRE_GRPC_URL and TRADEWIRE_REST_URL, and fails where something is not as it
// should be. run.mjs turns its imports and its last line into what each case needs.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createClient,
  createTransaction,
  loadConfig,
  openArchive,
  RequestError,
  signerFromSeed,
  TradewireError,
} from "tradewire";
import { openArchive as openArchiveAlone } from "tradewire/archive";

async function main() {
  const { grpc, rest } = loadConfig().config;
  assert.ok(grpc !== undefined && rest !== undefined);
  const folder = await mkdtemp(join(tmpdir(), "tradewire-program-"));
  const counts = [];
  for (const transport of ["grpc", "grpc-js", "rest"]) {
    const client = createClient({ transport, grpc, rest });
    const { length } = await client.listSegments();
    const trades = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 });
    const { path } = await trades.saveTo(join(folder, `${transport}.zip`));
    let rows = 0;
    for await (const _ of openArchive(path).rows()) rows += 1;
    const { files } = await trades.toZip();
    counts.push([length, rows, Object.keys(files).length]);
    await client.close();
  }
  assert.ok(counts.every((each) => each.every((count) => count > 0)));
  assert.deepEqual(counts, [counts[0], counts[0], counts[0]]);
  assert.equal(openArchiveAlone, openArchive);

  const block = { chainId: "chain-1", height: 5n, hash: "00", difficulty: 0, hashFunction: "sha3_24_rounds" };
  const signer = signerFromSeed("0c".repeat(32));
  const transaction = await createTransaction({ case: "stopOrdersCancellation", value: {} }, { signer, block });
  assert.equal(transaction.signature?.value.length, 128);

  assert.throws(
    () => signerFromSeed("no seed"),
    (error) => error instanceof RequestError && error instanceof TradewireError && error.message.includes("\n"),
  );
  await rm(folder, { recursive: true });
  console.log("all is as it should be");
}

main();
