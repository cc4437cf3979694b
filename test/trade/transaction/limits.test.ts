import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import {
  ConnectionError,
  createClient,
  createTransaction,
  OutcomeUnknownError,
  RequestError,
  solveProofOfWork as solve,
} from "tradewire";
import { serveNode, unanswered } from "../../support/node.js";
import { lastBlockAnswer, sender, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const last = lastBlockAnswer;
const failure = (promise: Promise<unknown>) => promise.then(undefined, (reason: unknown) => reason);
const never = () => new Promise<never>(() => undefined);

/** What a client throws, or else makes, at a node that answers as given. */
async function failureAt(
  core: Parameters<typeof serveNode>[1],
  options: object,
  act: "signCommand" | "sendCommand" = "sendCommand",
): Promise<unknown> {
  await using node = await serveNode({}, core);
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  return await failure(client[act](stopOrder(), { signer: sender, ...options }));
}

describe("the work that a node asks for", () => {
  test.each([
    [29, /would take about \d+ (seconds|minutes)/],
    [60, /would take about \d+ years/],
    [255, /over a million years/],
    [257, /over a million years/],
    [4294967295, /over a million years/],
  ])("is refused where it is of difficulty %d", async (spamPowDifficulty, time) => {
    const error = await failureAt({ lastBlockHeight: () => ({ ...last, spamPowDifficulty }) }, {});
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      summary: expect.stringContaining(`has difficulty ${spamPowDifficulty}, which exceeds maxDifficulty 28 and`),
      advice: expect.stringContaining("maxDifficulty"),
    });
    expect(error).toMatchObject({ summary: expect.stringMatching(time) });
  });

  test("is refused where the statistics ask for it", async () => {
    const blockStates = [{ blockHash: last.hash, expectedDifficulty: 255n }];
    const statistics = { pow: { blockStates } };
    const core = { lastBlockHeight: () => last, getSpamStatistics: () => ({ statistics }) };
    expect(await failureAt(core, {})).toMatchObject({
      summary: expect.stringContaining("difficulty 255, which exceeds"),
    });
  });

  test("is as much as the user allows", async () => {
    const core = { lastBlockHeight: () => ({ ...last, spamPowDifficulty: 9 }) };
    expect(await failureAt(core, { maxDifficulty: 8 })).toMatchObject({
      summary: expect.stringContaining(
        "has difficulty 9, which exceeds maxDifficulty 8 and would take about 2 seconds",
      ),
    });
    expect(await failureAt(core, { maxDifficulty: 9 }, "signCommand")).toMatchObject({ version: 3 });
    expect(await failureAt(core, { maxDifficulty: -1 })).toMatchObject({
      summary: "maxDifficulty must be a whole number from 0 to 256 (got -1)",
    });
  });

  test("is refused before a transaction is signed, and before a search", async () => {
    const block = { ...last, difficulty: 29, hashFunction: "sha3_24_rounds" };
    let signed = 0;
    const sign = (message: Uint8Array) => {
      signed += 1;
      return sender.sign(message);
    };
    const signer = { publicKey: sender.publicKey, sign };
    await expect(createTransaction(stopOrder(), { signer, block })).rejects.toThrow("difficulty 29, which exceeds");
    expect(signed).toBe(0);
    await expect(solve({ blockHash: "b", tid: "t", difficulty: 29, maxDifficulty: 28 })).rejects.toThrow(RequestError);
  });
});

describe("the time for a transaction", () => {
  const timeoutMs = 300;
  const slow = { lastBlockHeight: () => ({ ...last, spamPowDifficulty: 200 }), getSpamStatistics: () => ({}) };

  test.each<[string, Parameters<typeof serveNode>[1], object]>([
    ["no block comes", { lastBlockHeight: unanswered }, {}],
    ["no statistics come", { lastBlockHeight: () => last, getSpamStatistics: unanswered }, {}],
    ["the proof of work takes too long", slow, { maxDifficulty: 256 }],
    [
      "the signer does not answer",
      { lastBlockHeight: () => last, getSpamStatistics: () => ({}) },
      { signer: { publicKey: sender.publicKey, sign: never } },
    ],
    [
      "the block was used by its transactions",
      {
        lastBlockHeight: () => last,
        getSpamStatistics: () => ({
          statistics: { pow: { blockStates: [{ blockHash: last.hash, transactionsSeen: 100n }] } },
        }),
      },
      {},
    ],
  ])("ends it where %s; nothing was sent", async (_, core, options) => {
    for (const act of ["signCommand", "sendCommand"] as const) {
      const error = await failureAt(core, { ...options, timeoutMs }, act);
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({
        code: Code.DeadlineExceeded,
        connected: false,
        summary: "the deadline of 300 ms passed before the transaction was sent",
      });
    }
  });

  test("leaves the outcome unknown where it was sent", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const core = { lastBlockHeight: () => last, getSpamStatistics: () => ({}), submitTransaction: unanswered };
    const error = await runtime.until(failureAt(core, { timeoutMs: 4000 }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
  });

  test.each([0, -1, 1.5, 2 ** 31, Number.NaN])("is no %d milliseconds", async (wrong) => {
    expect(await failureAt({}, { timeoutMs: wrong })).toMatchObject({
      summary: expect.stringMatching(/^timeoutMs must be a (whole )?number of milliseconds/),
    });
  });
});
