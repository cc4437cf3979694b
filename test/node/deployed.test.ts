import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient as createConnectClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  createClient,
  createTransaction,
  ProtocolError,
  signerFromMnemonic,
  signerFromSeed,
  transactionHash,
} from "tradewire";
import { CoreService } from "tradewire/api";
import { type Devnode, startDevnode, type TransactionFailure } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import type { Transaction } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../support/devnode.js";
import { lastBlock } from "../support/transactions.js";

const { SYNC, ASYNC } = SubmitTransactionRequest_Type;
const order = (size = 1n): CommandInit => ({
  case: "orderSubmission",
  value: {
    marketId: openMarket,
    side: Side.BUY,
    price: "1",
    size,
    type: Order_Type.LIMIT,
    timeInForce: Order_TimeInForce.GTC,
  },
});

let node: Devnode;
let client: Client;
const failures: TransactionFailure[] = [];
beforeAll(async () => {
  const blocks = { segments: 2, blocksPerSegment: 300, blockMs: 0 } as const;
  node = await startDevnode({ ...blocks, profile: "deployed", onFailure: (failure) => failures.push(failure) });
  client = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

let signer: ReturnType<typeof signerFromSeed>;
beforeEach(async () => {
  await node.makeBlock();
  signer = signerFromSeed((await client.lastBlockHeight()).hash);
});

/** A transaction of base difficulty that is tied to the last block, however many the block was used by. */
async function easy(command = order()): Promise<Transaction> {
  const block = await lastBlock(client);
  return createTransaction(command, { signer, block, chainIdPrefix: "signature-only" });
}
const submit = (tx: Transaction, type = SYNC) => client.submitTransaction({ tx, type }, { throwOnRejection: false });
/** Connect's own client, without our checks of what is about to expire. */
const unchecked = ({ grpcUrl: baseUrl }: Devnode) => createConnectClient(CoreService, createGrpcTransport({ baseUrl }));
const seen = async () =>
  (await client.spamStatistics(signer.publicKey))?.pow?.blockStates.map(({ transactionsSeen }) => transactionsSeen);

describe("a node as deployed", () => {
  it("sends exports without extensions, whose files are always named with the version, and padded", async () => {
    const request = { table: "trades", fromBlock: 1, toBlock: 300 } as const;
    const zip = await client.exportNetworkHistory(request).toZip();
    expect(Object.keys(zip.files)).toEqual(["tradewire-devnet-trades-115-000001-000300.csv"]);
    await using strict = createClient({ grpc: { url: node.grpcUrl } });
    await expect(strict.exportNetworkHistory(request).toZip()).rejects.toThrow(ProtocolError);
    await expect(strict.exportNetworkHistory(request).toZip()).rejects.toThrow("has no extensions");
  });

  it("takes input data without the chain's identifier before it, and no other", async () => {
    expect(await submit(await client.signCommand(order(), { signer }))).toMatchObject({ success: true, code: 0 });
    const prefixed = await client.signCommand(order(), { signer, chainIdPrefix: "signed-and-submitted" });
    expect(await submit(prefixed)).toMatchObject({ success: false, code: 60 });
  });

  it("refuses wrong fields with code 60 and plain text, and spam with code 89", async () => {
    const tx = await easy();
    const wrong = { ...tx, version: 0 };
    expect(await submit(wrong)).toMatchObject({ success: false, code: 60 });
    await submit(tx);
    expect(await client.checkTransaction(tx)).toMatchObject({
      success: false,
      code: 89,
      data: "proof of work tid already seen by the node",
    });
    const { pow } = tx;
    const unworked = {
      ...tx,
      pow: { $typeName: pow?.$typeName ?? "vega.commands.v1.ProofOfWork", tid: "ab", nonce: 1n },
    };
    expect(await submit(unworked)).toMatchObject({ success: false, code: 89 });
  });

  it("takes one transaction too many for its block, and drops it when the block is made", async () => {
    failures.length = 0;
    // By chance a proof has more zero bits than were asked for, so that its block serves one more. Not so all of them.
    const sent = 14;
    for (let index = 0; index < sent; index += 1) {
      expect(await submit(await easy())).toMatchObject({ success: true, code: 0 });
    }
    expect((await seen())?.at(-1)).toBe(0n);
    await node.makeBlock();
    const served = Number((await seen())?.at(-2));
    expect(served).toBeGreaterThanOrEqual(2);
    expect(served).toBeLessThan(sent);
    const { orders } = await client
      .service(TradingDataService)
      .listOrders({ filter: { partyIds: [signer.publicKey] } });
    expect(orders?.edges).toHaveLength(served);
    const { height } = await client.lastBlockHeight();
    const failure = {
      height,
      txHash: expect.any(String),
      errors: ["its block has served the transactions of its key"],
    };
    expect(failures).toEqual(Array.from({ length: sent - served }, () => failure));
  });

  // Observed on a real node: what is in a block is refused by its hash after a restart, as the cache is empty then.
  it("knows what is in its blocks after a restart, and takes what it dropped", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "tradewire-deployed-"));
    const options = { segments: 2, blocksPerSegment: 300, blockMs: 0, profile: "deployed", dataDir } as const;
    const sent: Transaction[] = [];
    const submitAll = async ({ grpcUrl }: Devnode) => {
      await using other = createClient({ profile: "deployed", grpc: { url: grpcUrl } });
      const { height, hash, chainId, spamPowDifficulty, spamPowHashFunction } = await other.lastBlockHeight();
      const block = { height, hash, chainId, difficulty: spamPowDifficulty, hashFunction: spamPowHashFunction };
      while (sent.length < 14) {
        sent.push(await createTransaction(order(), { signer, block, chainIdPrefix: "signature-only" }));
      }
      const results = sent.map((tx) => other.submitTransaction({ tx, type: SYNC }, { throwOnRejection: false }));
      return (await Promise.all(results)).map(({ success, data }) => (success ? "taken" : data));
    };
    const dropped: TransactionFailure[] = [];
    {
      await using first = await startDevnode({ ...options, onFailure: (failure) => dropped.push(failure) });
      expect(await submitAll(first)).toEqual(sent.map(() => "taken"));
      await first.makeBlock();
      expect(dropped.length).toBeGreaterThan(0);
    }
    const hashes = dropped.map(({ txHash }) => txHash);
    const known = sent.map((tx) => (hashes.includes(transactionHash(tx)) ? "taken" : "transaction hash already used"));
    {
      await using again = await startDevnode(options);
      expect(await submitAll(again)).toEqual(known);
    }
    await rm(join(dataDir, "checkpoint"), { recursive: true });
    await using again = await startDevnode(options);
    expect(await submitAll(again)).toEqual(known);
    await rm(dataDir, { recursive: true });
  });

  it("drops what is beyond the proposals that a party may make in an epoch, when the block is made", async () => {
    failures.length = 0;
    const proposer = await signerFromMnemonic(node.mnemonic, { index: 3 });
    const closingTimestamp = BigInt(Math.floor(Date.now() / 1000) + 2_592_000);
    const { networkParameters } = await client.service(TradingDataService).listNetworkParameters({});
    const most = networkParameters?.edges.find((edge) => edge.node?.key === "spam.protection.max.proposals");
    expect(most?.node?.value).toBe("3");
    for (const title of ["a", "b", "c", "d"]) {
      const changes = { key: "transfer.fee.factor", value: "0.1" };
      const change = { case: "updateNetworkParameter", value: { changes } } as const;
      const terms = { closingTimestamp, enactmentTimestamp: closingTimestamp, change } as const;
      const rationale = { title, description: title };
      const command = { case: "proposalSubmission", value: { reference: title, rationale, terms } } as const;
      expect(await client.sendCommand(command, { signer: proposer })).toMatchObject({ success: true });
    }
    await node.makeBlock();
    const dropped = failures.filter(({ errors }) => errors.some((error) => error.includes("maximum number")));
    expect(dropped.map(({ errors }) => errors)).toEqual([
      ["its party has sent the maximum number of such commands in this epoch"],
    ]);
  });

  it("takes no transaction whose block is as old as the number of blocks that count", async () => {
    const { spamPowNumberOfPastBlocks: past } = await client.lastBlockHeight();
    const [young, old] = [await easy(), await easy()];
    for (let made = 1; made < past; made += 1) {
      await node.makeBlock();
    }
    const { submitTransaction } = unchecked(node);
    expect(await submitTransaction({ tx: young, type: SYNC })).toMatchObject({ success: true });
    await node.makeBlock();
    expect(await submitTransaction({ tx: old, type: SYNC })).toMatchObject({ success: false, code: 89 });
  });

  it("counts those blocks in the same way where it began with fewer", async () => {
    await using begun = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, profile: "deployed" });
    await using other = createClient({ profile: "deployed", grpc: { url: begun.grpcUrl } });
    const { spamPowNumberOfPastBlocks: past } = await other.lastBlockHeight();
    const block = await lastBlock(other);
    const tx = await createTransaction(order(), { signer, block, chainIdPrefix: "signature-only" });
    for (let made = 1; made < past; made += 1) {
      await begun.makeBlock();
    }
    expect(await unchecked(begun).submitTransaction({ tx, type: SYNC })).toMatchObject({ success: true });
  });

  it("does not look at the type of a submission", async () => {
    const bad = { ...(await easy()), version: 0 };
    expect(await submit(bad, ASYNC)).toMatchObject({ success: false, code: 60 });
  });
});
