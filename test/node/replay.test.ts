import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, RequestError, signerFromMnemonic } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { CoreService, SubmitRawTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { stopOrder } from "../support/transactions.js";
import { createControls, createFailureInjector, createLocalNetwork, parseDevnodeOptions } from "./inside.js";

const small = { segments: 2, blocksPerSegment: 5, blockMs: 0 } as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-replay-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** What a node in a folder has made of a transaction, given in bytes that differ from those that are usual for it. */
async function unusual(dataDir: string): Promise<string> {
  await using node = await startDevnode({ ...small, dataDir });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  const order = { case: "orderCancellation", value: {} } as const;
  const usual = toBinary(TransactionSchema, await client.signCommand(order, { signer }));
  // The field `version` comes first, and again at its place.
  const tx = Buffer.concat([Uint8Array.of(0xc0, 0x3e, 1), usual]);
  const { txHash } = await client
    .service(CoreService)
    .submitRawTransaction({ tx, type: SubmitRawTransactionRequest_Type.SYNC });
  await client.sendCommand(stopOrder(), { signer });
  await node.makeBlock();
  return txHash;
}

describe("the blocks of a folder", () => {
  it("hold transactions as the bytes in which they came", async () => {
    const dataDir = join(folder, "bytes");
    const txHash = await unusual(dataDir);
    const { transactions } = JSON.parse((await readFile(join(dataDir, "blocks.jsonl"), "utf8")).split("\n")[1] ?? "");
    const digest = await crypto.subtle.digest("SHA-256", Buffer.from(transactions[0], "base64"));
    expect(Buffer.from(digest).toString("hex").toUpperCase()).toBe(txHash);
    await using node = await startDevnode({ ...small, dataDir });
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    expect((await client.lastBlockHeight()).height).toBe(11n);
  });

  it.each([
    ["is none", () => "AAAA"],
    ["was changed", (text: string) => `${text.slice(0, 100)}${text[100] === "A" ? "B" : "A"}${text.slice(101)}`],
  ])("stop the start where a transaction %s", async (name, change) => {
    const dataDir = join(folder, name);
    await unusual(dataDir);
    const path = join(dataDir, "blocks.jsonl");
    const [header, line = ""] = (await readFile(path, "utf8")).split("\n");
    const block = JSON.parse(line);
    await writeFile(path, `${header}\n${JSON.stringify({ ...block, transactions: block.transactions.map(change) })}\n`);
    const starting = startDevnode({ ...small, dataDir });
    await expect(starting).rejects.toThrow(RequestError);
    await expect(starting).rejects.toThrow("the node rejects a transaction of the stored block 11");
  });
});

it("a block that cannot be kept is followed by none, until the node goes back", async () => {
  const kept: bigint[] = [];
  let isFull = false;
  const journal = {
    read: () => [],
    fingerprint: () => undefined,
    requireOpen() {},
    start: 0,
    position: () => kept.length,
    truncate(position: number) {
      kept.length = position;
    },
    add({ height }: { readonly height: bigint }) {
      if (isFull) {
        throw new Error("no space left on device");
      }
      kept.push(height);
    },
    [Symbol.dispose]() {},
  };
  const checkpoints = { read: () => undefined, blockAdded() {}, finish() {}, truncate() {} };
  const storage = { journal, checkpoints };
  const controls = createControls(
    createLocalNetwork(parseDevnodeOptions(small)),
    createFailureInjector([]),
    storage,
    () => false,
  );
  await controls.makeBlock();
  const id = controls.snapshot();
  isFull = true;
  await expect(controls.makeBlock()).rejects.toThrow("no space left");
  isFull = false;
  await expect(controls.makeBlock()).rejects.toThrow(RequestError);
  await expect(controls.makeBlock()).rejects.toThrow("no more blocks can be made");
  expect(kept).toEqual([11n]);
  controls.revert(id);
  expect(await controls.makeBlock()).toBe(12n);
  expect(kept).toEqual([11n, 12n]);
});

it.each(["2250-01-01T00:00:00Z", new Date(8.64e15), 2n ** 63n])("the clock is not set to %s", async (time) => {
  await using node = await startDevnode(small);
  expect(() => node.setTime(time)).toThrow(RequestError);
  expect(() => node.setTime(time)).toThrow("must be before 2250-01-01T00:00:00.000Z");
  node.setTime("2249-12-31T23:59:59Z");
  await node.makeBlock();
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const { timestamp } = await client.service(CoreService).getVegaTime({});
  expect(timestamp).toBeGreaterThan(8_835_955_199_000_000_000n - 1n);
});
