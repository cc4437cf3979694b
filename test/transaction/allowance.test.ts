import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { createClient } from "../../src/client.js";
import { CanceledError, NodeError } from "../../src/errors/index.js";
import { signerFromSeed } from "../../src/transaction/signer.js";
import { serveNode } from "../support/node.js";
import { sender, stopOrder } from "../support/transactions.js";

const last = {
  height: 7n,
  hash: "07".repeat(32),
  chainId: "test-1",
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 1,
  spamPowNumberOfPastBlocks: 4294967295,
  spamPowNumberOfTxPerBlock: 1,
  spamPowIncreasingDifficulty: false,
};
const failure = (promise: Promise<unknown>) => promise.then(undefined, (reason: unknown) => reason);

/** A client without retries, of a node that answers as given. */
async function clientOf(core: Parameters<typeof serveNode>[1]) {
  const node = await serveNode({}, { lastBlockHeight: () => last, ...core });
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await node.close();
    },
  };
}

describe("the question for a block's statistics", () => {
  test("is shared, and outlives the one who asked it first", async () => {
    let asked = 0;
    let answer = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using served = await clientOf({
      lastBlockHeight: () => ({ ...last, spamPowNumberOfTxPerBlock: 2 }),
      async getSpamStatistics() {
        asked += 1;
        answer();
        await released;
        return {};
      },
    });
    const abort = new AbortController();
    const first = failure(served.client.signCommand(stopOrder(), { signer: sender, signal: abort.signal }));
    await arrived;
    const second = served.client.signCommand(stopOrder(), { signer: sender });
    abort.abort();
    expect(await first).toBeInstanceOf(CanceledError);
    release();
    expect(await second).toMatchObject({ version: 3 });
    expect(asked).toBe(1);
  });

  test("is asked again after it failed", async () => {
    let asked = 0;
    await using served = await clientOf({
      getSpamStatistics() {
        asked += 1;
        if (asked === 1) {
          throw new ConnectError("not now", Code.Internal);
        }
        return {};
      },
    });
    const sign = () => served.client.signCommand(stopOrder(), { signer: sender });
    expect(await failure(sign())).toBeInstanceOf(NodeError);
    expect(await sign()).toMatchObject({ version: 3 });
    expect(asked).toBe(2);
  });

  test("is asked once for a block, and the counts of old blocks are forgotten", async () => {
    let height = 1n;
    let asked = 0;
    await using served = await clientOf({
      lastBlockHeight: () => ({ ...last, height, hash: height.toString(16).padStart(64, "0") }),
      getSpamStatistics() {
        asked += 1;
        return {};
      },
    });
    const sign = () => served.client.signCommand(stopOrder(), { signer: sender });
    for (; height <= 40n; height += 1n) {
      await sign();
    }
    expect(asked).toBe(40);
    height = 1n; // Its count was dropped long ago, or this would wait for another block.
    await sign();
    expect(asked).toBe(41);
  });
});

describe("a part of the allowance that was not used", () => {
  test("is given back where the signer fails, as often as it does", async () => {
    await using served = await clientOf({});
    const sign = () => {
      throw new Error("the device is locked");
    };
    for (let failed = 0; failed < 9; failed += 1) {
      const error = await failure(served.client.signCommand(stopOrder(), { signer: { ...sender, sign } }));
      expect(error).toMatchObject({ message: "the device is locked" });
    }
    expect(await served.client.signCommand(stopOrder(), { signer: sender, timeoutMs: 20_000 })).toMatchObject({
      version: 3,
    });
  });

  test("is given back where the submission did not leave, and kept where it may have", async () => {
    const codes = [Code.Unimplemented, Code.Internal];
    await using served = await clientOf({
      submitTransaction() {
        throw new ConnectError("no", codes.shift());
      },
    });
    const send = () => failure(served.client.sendCommand(stopOrder(), { signer: sender, timeoutMs: 5000 }));
    expect(await send()).toMatchObject({ name: "NodeError" });
    expect(await send()).toMatchObject({ name: "OutcomeUnknownError" });
    expect(await send()).toMatchObject({ summary: expect.stringContaining("the time was up, 5000 ms") });
    const other = signerFromSeed("01".repeat(32));
    expect(await served.client.signCommand(stopOrder(), { signer: other })).toMatchObject({ version: 3 });
  });
});
