import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CanceledError, NodeError, RequestError } from "tradewire";
import { GetSpamStatisticsResponseSchema, LastBlockHeightResponseSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { createBlockAllowance, type Share, type SpamService } from "../../../src/trade/transaction/block-allowance.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";
import { createRecentBlocks } from "./inside.js";

const publicKey = "5e".repeat(32);
const last = {
  height: 7n,
  hash: "07".repeat(32),
  chainId: "test-1",
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 10,
  spamPowNumberOfTxPerBlock: 2,
  spamPowIncreasingDifficulty: true,
};
const next = { ...last, height: 8n, hash: "08".repeat(32) };

let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => runtime[Symbol.dispose]());

type Block = MessageInitShape<typeof LastBlockHeightResponseSchema>;
type Statistics = NonNullable<MessageInitShape<typeof GetSpamStatisticsResponseSchema>["statistics"]>;

/** An allowance at a node whose last block is `node.block`, and which answers questions for statistics as given. */
function allowanceAt(block: Block = last, statistics: () => Statistics | undefined | Promise<Statistics> = () => ({})) {
  const node = { block };
  const asked: string[] = [];
  const signals: unknown[] = [];
  const recent = createRecentBlocks();
  const service: SpamService = {
    async lastBlockHeight(_, options) {
      signals.push(options?.signal);
      return create(LastBlockHeightResponseSchema, node.block);
    },
    async getSpamStatistics({ partyId = "" }) {
      asked.push(partyId);
      const given = await statistics();
      return create(GetSpamStatisticsResponseSchema, given === undefined ? {} : { statistics: given });
    },
  };
  const allowance = createBlockAllowance(service, recent);
  const { signal: forever } = new AbortController();
  const take = (options: Partial<Parameters<typeof allowance.take>[0]> = {}): Promise<Share> =>
    allowance.take({ publicKey, chainId: undefined, maxDifficulty: 28, signal: forever, ...options });
  /** The difficulties of transactions one after the other. */
  const difficulties = async (count: number, options: Parameters<typeof take>[0] = {}) => {
    const taken: number[] = [];
    while (taken.length < count) {
      taken.push((await take(options)).block.difficulty);
    }
    return taken;
  };
  return { node, asked, signals, recent, take, difficulties };
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );
const ofNode = (code: Code) => new NodeError({ code, message: "no", details: [] });
const seen = (transactionsSeen: bigint, more: object = {}) => ({
  pow: { blockStates: [{ blockHash: last.hash, transactionsSeen, ...more }] },
});

/** Whether a call waits for the next block: it goes on once there is one. */
async function waits(node: { block: Block }, take: Promise<Share>): Promise<boolean> {
  let isOver = false;
  const share = take.finally(() => {
    isOver = true;
  });
  await runtime.pass(0);
  const before = isOver;
  node.block = next;
  expect((await runtime.until(share)).block.height).toBe(before ? 7n : 8n);
  return !before;
}

describe("a transaction", () => {
  it("is tied to the last block, and told what its proof of work needs", async () => {
    const { take, signals } = allowanceAt();
    const { signal } = new AbortController();
    const { block } = await take({ signal });
    expect(block).toEqual({
      chainId: "test-1",
      height: 7n,
      hash: "07".repeat(32),
      difficulty: 10,
      hashFunction: "sha3_24_rounds",
    });
    expect(signals).toEqual([signal, signal]); // The first answer counts once the second one confirms it.
  });

  it("is refused on a different chain than the one that was named", async () => {
    const { take, asked } = allowanceAt();
    expect(await reasonOf(take({ chainId: "test-2" }))).toMatchObject({
      summary: expect.stringContaining("the node is on chain"),
    });
    expect(asked).toEqual([]);
    expect((await take({ chainId: "test-1" })).block.chainId).toBe("test-1");
  });

  it("is refused where the block asks for more work than allowed", async () => {
    const { take, asked } = allowanceAt();
    expect(await reasonOf(take({ maxDifficulty: 9 }))).toBeInstanceOf(RequestError);
    expect(asked).toEqual([]);
    expect((await take({ maxDifficulty: 10 })).block.difficulty).toBe(10);
  });
});

describe("the allowance of a block", () => {
  it("asks for one more zero bit with each further batch, and for three at most", async () => {
    const { node, take, difficulties } = allowanceAt();
    expect(await difficulties(8)).toEqual([10, 10, 11, 11, 12, 12, 13, 13]);
    expect(await waits(node, take())).toBe(true);
  });

  it("is one batch where the network takes no further ones", async () => {
    const { node, take, difficulties } = allowanceAt({ ...last, spamPowIncreasingDifficulty: false });
    expect(await difficulties(2)).toEqual([10, 10]);
    expect(await waits(node, take())).toBe(true);
  });

  it("is not used up where the network does not limit it", async () => {
    const { difficulties } = allowanceAt({ ...last, spamPowNumberOfTxPerBlock: 0 });
    expect(await difficulties(9)).toEqual(Array.from({ length: 9 }, () => 10));
  });

  it("ends where a further batch would need more work than allowed", async () => {
    const { node, take, difficulties } = allowanceAt();
    expect(await difficulties(4, { maxDifficulty: 11 })).toEqual([10, 10, 11, 11]);
    expect(await waits(node, take({ maxDifficulty: 11 }))).toBe(true);
  });

  it("is each key's own, and each block's", async () => {
    const { node, difficulties, asked } = allowanceAt();
    expect(await difficulties(3)).toEqual([10, 10, 11]);
    expect(await difficulties(3, { publicKey: "ab" })).toEqual([10, 10, 11]);
    node.block = next;
    expect(await difficulties(3)).toEqual([10, 10, 11]);
    node.block = last;
    expect(await difficulties(1)).toEqual([11]);
    expect(asked).toEqual([publicKey, "ab", publicKey]);
  });

  it("has a part more that was given back, once", async () => {
    const { take, difficulties } = allowanceAt();
    await take();
    const share = await take();
    share.giveBack();
    share.giveBack();
    share.giveBack();
    expect(await difficulties(2)).toEqual([10, 11]);
  });
});

describe("what the node has counted", () => {
  it("is counted too: other programs may send with the key", async () => {
    const { difficulties } = allowanceAt(last, () => seen(3n));
    expect(await difficulties(2)).toEqual([11, 12]);
  });

  it("of another block does not count", async () => {
    const { node, difficulties } = allowanceAt(last, () => seen(3n));
    node.block = next;
    expect(await difficulties(3)).toEqual([10, 10, 11]);
  });

  it("is the least difficulty too", async () => {
    const { difficulties } = allowanceAt(last, () => seen(0n, { expectedDifficulty: 11n }));
    expect(await difficulties(5)).toEqual([11, 11, 11, 11, 12]);
  });

  it("is refused where the next block would ask for as much", async () => {
    const { take } = allowanceAt(last, () => seen(0n, { expectedDifficulty: 12n }));
    expect(await reasonOf(take({ maxDifficulty: 11 }))).toMatchObject({
      summary: expect.stringContaining("has difficulty 12, which exceeds"),
    });
  });

  it("is nothing where the node has no statistics", async () => {
    expect(await allowanceAt(last, () => undefined).difficulties(3)).toEqual([10, 10, 11]);
    for (const code of [Code.Unimplemented, Code.NotFound]) {
      const { difficulties, asked } = allowanceAt(last, () => Promise.reject(ofNode(code)));
      expect(await difficulties(3)).toEqual([10, 10, 11]);
      expect(asked).toHaveLength(1);
    }
  });

  it("is asked again where the question failed", async () => {
    for (const failure of [ofNode(Code.Unavailable), new RequestError("no", { advice: "Look." })]) {
      const answers = [Promise.reject(failure), Promise.resolve({})];
      const { take, asked } = allowanceAt(last, () => answers.shift() ?? {});
      expect(await reasonOf(take())).toBe(failure);
      expect((await take()).block.difficulty).toBe(10);
      expect(asked).toHaveLength(2);
    }
  });

  it("is asked once by all who wait for it, and nobody's giving up ends it", async () => {
    let answer = (_: Statistics) => {};
    const { take, asked } = allowanceAt(
      last,
      () =>
        new Promise<Statistics>((resolve) => {
          answer = resolve;
        }),
    );
    const abort = new AbortController();
    const first = reasonOf(take({ signal: abort.signal }));
    const second = take();
    await new Promise(setImmediate);
    abort.abort();
    expect(await first).toBeInstanceOf(CanceledError);
    answer(seen(2n));
    expect((await second).block.difficulty).toBe(11);
    expect(asked).toHaveLength(1);
  });

  it("is a ban, until which nothing is sent", async () => {
    const { take } = allowanceAt(last, () => ({ pow: { blockStates: [], bannedUntil: "2030-01-01" } }));
    const reason = await reasonOf(take());
    expect(reason).toBeInstanceOf(RequestError);
    expect(reason).toMatchObject({
      summary: `the node has banned the key ${publicKey} until 2030-01-01 for invalid proofs of work`,
      advice: "Wait until then, or use another key. Nothing was sent.",
    });
    const free = allowanceAt(last, () => ({ pow: { blockStates: [], bannedUntil: "" } }));
    expect(await free.difficulties(1)).toEqual([10]);
  });

  it("is kept for the last 64 blocks", async () => {
    const { node, take, asked } = allowanceAt();
    const blocks = Array.from({ length: 65 }, (_, index) => ({ ...last, hash: `hash ${index}` }));
    for (node.block of blocks) {
      await take();
    }
    expect(asked).toHaveLength(65);
    node.block = blocks[1] ?? last;
    await take();
    expect(asked).toHaveLength(65);
    node.block = blocks[0] ?? last;
    await take();
    expect(asked).toHaveLength(66);
  });
});

describe("the wait for the next block", () => {
  it("ends with the signal", async () => {
    const { take } = allowanceAt(last, () => seen(100n));
    const abort = new AbortController();
    const failure = reasonOf(take({ signal: abort.signal }));
    await new Promise(setImmediate);
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await failure).toMatchObject({ name: "CanceledError", cause: reason });
  });

  it("ends after a minute", async () => {
    const { node, take, signals } = allowanceAt(last, () => seen(100n));
    const failure = reasonOf(take());
    await runtime.pass(0);
    runtime.skip(60_000);
    await runtime.pass(0);
    expect(signals).toHaveLength(3);
    node.block = { ...last, height: 9n };
    expect(await runtime.until(failure)).toMatchObject({
      name: "RequestError",
      summary: "block 9 allows no more transactions, and no new block arrived within a minute",
      advice: "Check that the network makes blocks. Nothing was sent.",
    });
    expect(signals).toHaveLength(4);
  });
});

describe("a wrong last block", () => {
  it.each([
    ["first", [2n ** 40n, 100n, 100n]],
    ["later", [100n, 100n, 2n ** 40n, 101n]],
  ])("that a node names %s is not used, and neither ties a transaction nor delays one", async (_, heights) => {
    const { node, take, recent } = allowanceAt({ ...last, spamPowNumberOfPastBlocks: 100 });
    const answers = [...heights];
    Object.defineProperty(node, "block", {
      get: () => ({
        ...last,
        spamPowNumberOfPastBlocks: 100,
        height: answers.length > 1 ? answers.shift() : answers[0],
      }),
    });
    for (let count = 0; count < 3; count += 1) {
      expect((await take()).block.height).toBeLessThanOrEqual(101n);
    }
    expect(answers).toHaveLength(1);
    expect(recent.last()?.height).toBe(heights.at(-1));
  });

  it("is an error where no two answers fit together", async () => {
    const { node, take } = allowanceAt();
    const heights = [1n, 1000n, 2000n, 3000n, 4000n];
    Object.defineProperty(node, "block", { get: () => ({ ...last, height: heights.shift() ?? 0n }) });
    expect(await reasonOf(take())).toMatchObject({
      name: "ConnectionError",
      connected: false,
      summary: expect.stringMatching(/^the node reported contradictory last blocks: 1, 1000, 2000, 3000, 4000$/),
    });
  });
});

// v0.78.0 refuses a transaction once `height + spam.pow.numberOfPastBlocks <= current height`: `verifyWithLock` in
// core/pow/engine.go. So one that is tied to block T is taken into blocks T + 1 to T + pastBlocks.
describe("the validity of a transaction", () => {
  const hashOf = (height: number) => height.toString(16).padStart(64, "0");
  const block = (height: number) => ({
    ...last,
    height: BigInt(height),
    hash: hashOf(height),
    spamPowNumberOfPastBlocks: 10,
  });
  const at = (height: number, ...seenHeights: number[]) => {
    const allowance = allowanceAt(block(height));
    for (const each of seenHeights) {
      allowance.recent.add({ height: BigInt(each), hash: hashOf(each) }, BigInt(each) * 2_000_000_000n);
    }
    return allowance;
  };
  const all = Array.from({ length: 10 }, (_, index) => 91 + index);

  it.each([
    [5, 95],
    [6, 96],
    [9, 99],
    [10, 100],
  ])(
    "of %i blocks ties it to block %i, where the last one is 100 and 10 past blocks are taken",
    async (blocks, tied) => {
      const { block: task, validForBlocks } = await at(100, ...all).take({ validForBlocks: blocks });
      expect([task.height, task.hash, validForBlocks]).toEqual([BigInt(tied), hashOf(tied), blocks]);
    },
  );

  it("is all that the network gives, where none is asked for", async () => {
    const { block: task, validForBlocks, pastBlocks } = await at(100, ...all).take();
    expect([task.height, validForBlocks, pastBlocks]).toEqual([100n, 10, 10]);
  });

  it("is shorter where the exact block is not known, and never longer", async () => {
    const { block: task, validForBlocks } = await at(100, 95, 98, 99).take({ validForBlocks: 7 });
    expect([task.height, validForBlocks]).toEqual([95n, 5]);
  });

  it("needs a block that is old enough, and the error says when there will be one", async () => {
    const { asked, take } = at(100, 94, 98, 99); // Block 94 would leave 4 blocks.
    expect(await reasonOf(take({ validForBlocks: 6 }))).toMatchObject({
      name: "RequestError",
      summary: "no known block is old enough for a validity of 6 blocks",
      advice: expect.stringMatching(/one of the blocks 95 to 96, .* Wait 2 blocks, or allow 8\. Nothing was sent\.$/),
    });
    expect(asked).toEqual([]);
  });

  // An order that a market with transaction reordering delays, and that has expired by then, stops v0.78.0 for good: the next
  // proposal leaves it out, and is refused for that (`prepareProposal`, `processProposal` in core/processor/abci.go). A node
  // of that version stood still when such an order was sent again shortly before it expired.
  it.each([1, 4])("is never as short as %i blocks, which could stop the network", async (validForBlocks) => {
    const { asked, take } = at(100, ...all);
    expect(await reasonOf(take({ validForBlocks }))).toMatchObject({
      name: "RequestError",
      summary: `validForBlocks must be at least 5 blocks (got ${validForBlocks})`,
    });
    expect(asked).toEqual([]);
  });

  it("is at most what the network gives", async () => {
    expect(await reasonOf(at(100, ...all).take({ validForBlocks: 11 }))).toMatchObject({
      summary:
        "validForBlocks must be at most 10, the number of blocks in which the network accepts a transaction (got 11)",
    });
  });

  it("of a time is the blocks that fit, by the interval between those that were seen", async () => {
    const { take } = at(100, ...all);
    expect((await take({ validForMs: 13_999 })).validForBlocks).toBe(6); // A block each 2 s.
    expect((await take({ validForMs: 60_000 })).validForBlocks).toBe(10);
    expect(await reasonOf(take({ validForMs: 9999 }))).toMatchObject({
      summary: "validForMs must be at least 5 blocks (got 4)",
    });
  });

  it.each([
    [13_000, all, 97, 7],
    [1000, all, 95, 5],
    [60_000, all, 100, 10],
    [13_000, [94, 98, 99], 98, 8], // Block 97 is not known, and 94 leaves fewer than 5 blocks.
    [13_000, [95, 98, 99], 95, 5],
    [13_000, [], 100, 10], // The interval between blocks is not known.
  ])("of about %i ms is as short as the known blocks %j allow", async (aboutMs, known, tied, blocks) => {
    const { block: task, validForBlocks } = await at(100, ...known).take({ aboutMs });
    expect([task.height, validForBlocks]).toEqual([BigInt(tied), blocks]);
  });

  it("of about a time ties to the next block once one has served its transactions", async () => {
    const { node, take } = at(100, 98, 99);
    for (let count = 0; count < 8; count += 1) {
      expect((await take({ aboutMs: 1000 })).block.height).toBe(98n);
    }
    const next = take({ aboutMs: 1000 });
    await runtime.pass(0);
    node.block = block(101);
    expect((await runtime.until(next)).block.height).toBe(99n);
  });

  it("of a time needs the times of two blocks", async () => {
    expect(await reasonOf(at(100, 99).take({ validForMs: 5000 }))).toMatchObject({
      summary: "the block interval is unknown, so a time cannot be converted to blocks",
    });
  });

  it("counts transactions by the block that they are tied to", async () => {
    const { take, asked } = at(100, ...all);
    const difficulties = [];
    for (const validForBlocks of [6, 6, 6, 7, undefined]) {
      difficulties.push((await take({ validForBlocks })).block.difficulty);
    }
    expect(difficulties).toEqual([10, 10, 11, 10, 10]);
    expect(asked).toHaveLength(3); // The statistics of the key, once for each block.
  });

  it("counts from the highest block that is known, as a node that replays blocks names older ones", async () => {
    const { recent, take } = at(97, ...all);
    const { block: task, validForBlocks } = await take({ validForBlocks: 7 });
    expect([task.height, validForBlocks]).toEqual([97n, 7]);
    expect(await take()).toMatchObject({ block: { height: 97n }, validForBlocks: 7 });
    recent.add({ height: 101n, hash: hashOf(101) });
    expect(await take({ validForBlocks: 7 })).toMatchObject({ block: { height: 97n }, validForBlocks: 6 });
  });

  it("waits for a node that is too far behind, a minute at most", async () => {
    const { node, recent, take } = at(94, ...all);
    const caughtUp = take();
    await runtime.pass(0);
    node.block = block(95);
    expect(await runtime.until(caughtUp)).toMatchObject({ block: { height: 95n }, validForBlocks: 5 });
    node.block = block(94);
    const failure = reasonOf(take());
    await runtime.pass(0);
    runtime.skip(60_000);
    recent.add({ height: 100n, hash: hashOf(100) });
    expect(await runtime.until(failure)).toMatchObject({
      name: "RequestError",
      summary: "the node's last block is 94, but block 100 is already known",
    });
  });

  it("counts from a lower block after a minute: the network may have begun anew", async () => {
    const { take } = at(3, ...all);
    runtime.skip(60_001);
    expect(await take()).toMatchObject({ block: { height: 3n }, validForBlocks: 10 });
  });

  it("ties to no block with a hash that is none", async () => {
    const { take, recent } = at(100);
    recent.add({ height: 96n, hash: "../../etc" });
    await expect(take({ validForBlocks: 6 })).rejects.toThrow("no known block is old enough");
  });
});

const named = (height: bigint) => ({ height, hash: height.toString(16).padStart(64, "0") });
const LIE = 2n ** 40n;

describe("a block that a node names", () => {
  it("counts once the next one confirms it, as the first one may be wrong", () => {
    const recent = createRecentBlocks();
    expect(recent.add(named(LIE))).toBe(false);
    expect(recent.last()).toBeUndefined();
    expect(recent.add(named(100n))).toBe(false);
    expect(recent.add(named(101n))).toBe(true);
    expect(recent.last()?.height).toBe(101n);
    expect(recent.newestIn(1n, LIE)?.height).toBe(101n);
    expect(recent.oldestIn(1n, LIE)?.height).toBe(100n);
  });

  it("counts at once up to 10 blocks above the last one, and at any height below it", () => {
    const recent = createRecentBlocks();
    for (const height of [100n, 100n, 110n]) {
      recent.add(named(height));
    }
    expect(recent.last()?.height).toBe(110n);
    expect(recent.add(named(20n))).toBe(true);
    expect(recent.last()?.height).toBe(110n);
    expect(recent.add(named(121n))).toBe(false);
    expect(recent.last()?.height).toBe(110n);
  });

  it("does not decide where it is wrong again and again, with right ones in between", () => {
    const recent = createRecentBlocks();
    for (const height of [100n, 100n, LIE, 101n, LIE, 102n, LIE]) {
      recent.add(named(height));
    }
    expect(recent.last()?.height).toBe(102n);
  });

  it.each([
    [0, 290n, true],
    [0, 289n, false],
    [0, 310n, true],
    [0, 311n, false],
    [1000, 410n, true],
    [1000, 411n, false],
    [60_000, 810n, true],
    [60_000, 811n, false],
    [60_001, 300n, false],
  ])("is confirmed by the next one %i ms later: 300 by %i: %s", (ms, height, isConfirmed) => {
    const recent = createRecentBlocks();
    recent.add(named(300n));
    runtime.skip(ms);
    expect(recent.add(named(height))).toBe(isConfirmed);
  });

  it("is forgotten a minute later, also of a machine that was suspended", () => {
    const recent = createRecentBlocks();
    for (const height of [100n, 100n]) {
      recent.add(named(height));
    }
    runtime.setUnixMs(runtime.unixMs() + 60_000);
    expect(recent.last()).toMatchObject({ height: 100n, ageMs: 60_000 });
    runtime.skip(1);
    expect(recent.last()).toBeUndefined();
  });
});

describe("how many blocks there may be by now", () => {
  it("is estimated by twice the pace of those before", () => {
    const recent = createRecentBlocks();
    for (let height = 100n; height <= 110n; height += 1n) {
      recent.add(named(height));
      runtime.skip(200);
    }
    runtime.skip(400);
    expect(recent.last()?.laterBlocks).toBe(6);
  });

  it("is estimated by the fastest blocks of a validator until the pace is known", () => {
    const recent = createRecentBlocks();
    for (const height of [100n, 101n]) {
      recent.add(named(height));
      runtime.skip(250);
    }
    expect(recent.last()?.laterBlocks).toBe(10);
  });
});
