import { create, type DescService, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, createClient, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  CommandError,
  ConnectionError,
  NodeError,
  OutcomeUnknownError,
  RequestError,
  TransactionError,
} from "tradewire";
import {
  CoreService,
  type SubmitTransactionRequest,
  SubmitTransactionRequest_Type,
  SubmitTransactionResponseSchema,
} from "tradewire/gen/vega/api/v1/core_pb.js";
import { createTransactions } from "../../../src/trade/transaction/transactions.js";
import { sender, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";
import { type ChainSettings, createRecentBlocks, openTransactionSync } from "./inside.js";

const last = {
  height: 7n,
  hash: "07".repeat(32),
  chainId: "test-1",
  spamPowHashFunction: "sha3_24_rounds",
  spamPowDifficulty: 1,
  spamPowNumberOfTxPerBlock: 1,
  spamPowIncreasingDifficulty: true,
};
const taken = { success: true, txHash: "AB", code: 0, data: "", log: "", height: 0n };
const loopback: ChainSettings = { isLoopback: true };

/** The operations at a node in memory; `submit` takes a transaction in its place, for what no node can answer. */
function transactionsAt(
  core: Partial<ServiceImpl<typeof CoreService>> = {},
  settings: ChainSettings = loopback,
  submit: (call: { signal?: AbortSignal | undefined }) => Promise<object> = async () => taken,
) {
  const transport = createRouterTransport(({ service }) => {
    service(CoreService, { lastBlockHeight: () => last, getSpamStatistics: () => ({}), ...core });
  });
  const received: SubmitTransactionRequest[] = [];
  const client = createClient(CoreService, transport);
  const service: typeof client = {
    ...client,
    async submitTransaction(request, options) {
      received.push(request as SubmitTransactionRequest);
      return create(SubmitTransactionResponseSchema, await submit({ signal: options?.signal }));
    },
  };
  const serviceClient = <S extends DescService>(of: S) => createClient(of, transport);
  return {
    transactions: createTransactions(service, {
      ...settings,
      serviceClient: serviceClient as never,
      recentBlocks: createRecentBlocks(),
    }),
    received,
  };
}

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );
const options = { signer: sender };

/** The difficulty of the next transaction, which tells how many parts of the allowance were used up. */
async function nextDifficulty({ transactions }: ReturnType<typeof transactionsAt>): Promise<string> {
  using runtime = useVirtualRuntime({ io: true });
  const signing = transactions.signCommand(stopOrder(), { ...options, maxDifficulty: 1, timeoutMs: 40 });
  const failure = await runtime.until(reasonOf(signing));
  return failure instanceof ConnectionError ? "used up" : String(failure);
}

describe("a command that is signed", () => {
  it("is tied to the last block, for the chain that is named", async () => {
    const { transactions, received } = transactionsAt();
    const tx = await transactions.signCommand(stopOrder(), { ...options, nonce: 5n, tid: "t" });
    const { inputData, publicKey, problems } = openTransactionSync(tx, { chainId: "test-1" });
    expect(problems).toEqual([]);
    expect(inputData).toMatchObject({ blockHeight: 7n, nonce: 5n, command: { case: "stopOrdersSubmission" } });
    expect(publicKey).toBe(sender.publicKey);
    expect(tx.pow?.tid).toBe("t");
    expect(received).toEqual([]);
  });

  it("is not signed for a different chain than the one named", async () => {
    const named = { isLoopback: false, chainId: "test-2" };
    expect(String(await reasonOf(transactionsAt({}, named).transactions.signCommand(stopOrder(), options)))).toContain(
      'the node is on chain "test-1", not on "test-2"',
    );
    const own = { ...options, chainId: "test-1" };
    expect(await transactionsAt({}, named).transactions.signCommand(stopOrder(), own)).toMatchObject({ version: 3 });
    const unnamed = transactionsAt({}, { isLoopback: false }).transactions.signCommand(stopOrder(), options);
    expect(String(await reasonOf(unnamed))).toContain("the chain ID is required, because");
  });

  it("asks the node for nothing where it is wrong", async () => {
    let asked = 0;
    const { transactions } = transactionsAt({
      lastBlockHeight() {
        asked += 1;
        return last;
      },
    });
    for (const act of [transactions.signCommand, transactions.sendCommand]) {
      expect(await reasonOf(act(stopOrder("0"), options))).toBeInstanceOf(CommandError);
    }
    expect(asked).toBe(0);
  });

  it("needs at most the work that is allowed: 28 bits where nothing is said", async () => {
    const at = (spamPowDifficulty: number) =>
      transactionsAt({ lastBlockHeight: () => ({ ...last, spamPowDifficulty }) }).transactions;
    expect(String(await reasonOf(at(29).signCommand(stopOrder(), options)))).toContain("difficulty 29, which exceeds");
    const failure = await reasonOf(at(9).signCommand(stopOrder(), { ...options, maxDifficulty: 8 }));
    expect(String(failure)).toContain("difficulty 9, which exceeds maxDifficulty 8");
  });

  it("gives its part of the allowance back where its signer fails", async () => {
    const at = transactionsAt();
    const sign = () => Promise.reject(new Error("the device is locked"));
    for (let failed = 0; failed < 3; failed += 1) {
      const signing = at.transactions.signCommand(stopOrder(), { signer: { ...sender, sign } });
      expect(await reasonOf(signing)).toMatchObject({ message: "the device is locked" });
    }
    expect(await at.transactions.signCommand(stopOrder(), { ...options, maxDifficulty: 1 })).toMatchObject({
      version: 3,
    });
    expect(await nextDifficulty(at)).toBe("used up");
  });

  it("has the time that is given, and the signal", async () => {
    const silent = { lastBlockHeight: () => new Promise<never>(() => undefined) };
    const { transactions } = transactionsAt(silent);
    const late = await reasonOf(transactions.signCommand(stopOrder(), { ...options, timeoutMs: 0 }));
    expect(late).toBeInstanceOf(RequestError);
    const aborted = transactions.signCommand(stopOrder(), { ...options, signal: AbortSignal.abort() });
    expect(await reasonOf(aborted)).toMatchObject({ code: Code.Canceled });
  });
});

describe("a command that is sent", () => {
  it.each([
    [undefined, SubmitTransactionRequest_Type.SYNC],
    ["async", SubmitTransactionRequest_Type.ASYNC],
    ["commit", SubmitTransactionRequest_Type.COMMIT],
  ] as const)("comes as far as is asked: %s", async (type, expected) => {
    const { transactions, received } = transactionsAt();
    const sent = await transactions.sendCommand(stopOrder(), { ...options, type });
    expect(sent).toMatchObject({
      ...taken,
      computedTxHash: expect.stringMatching(/^[0-9A-F]{64}$/),
      transaction: received[0]?.tx,
    });
    expect(received).toMatchObject([{ type: expected, tx: { version: 3 } }]);
    expect(received).toHaveLength(1);
  });

  it("that is refused is an error, unless a result is wanted", async () => {
    const refused = async () => ({ ...taken, success: false, code: 51 });
    const at = transactionsAt({}, loopback, refused);
    expect(await reasonOf(at.transactions.sendCommand(stopOrder(), options))).toBeInstanceOf(TransactionError);
    const result = transactionsAt({}, loopback, refused).transactions.sendCommand(stopOrder(), {
      ...options,
      throwOnRejection: false,
    });
    expect(await result).toMatchObject({ success: false });
    expect(await nextDifficulty(at)).toBe("used up"); // The node has counted it.
  });

  it("gives its part of the allowance back where it was not taken", async () => {
    const reason = new NodeError({ code: Code.InvalidArgument, message: "no", details: [] }, { isRefusal: true });
    const at = transactionsAt({}, loopback, () => Promise.reject(reason));
    for (let failed = 0; failed < 3; failed += 1) {
      expect(await reasonOf(at.transactions.sendCommand(stopOrder(), { ...options, maxDifficulty: 1 }))).toBe(reason);
    }
  });

  it("keeps its part where it may have been taken", async () => {
    const lost = new ConnectionError("lost", { code: Code.Unavailable, advice: "Look." });
    const at = transactionsAt({}, loopback, () => Promise.reject(lost));
    expect(await reasonOf(at.transactions.sendCommand(stopOrder(), options))).toBeInstanceOf(OutcomeUnknownError);
    expect(await nextDifficulty(at)).toBe("used up");
  });

  it("has a time, after which its outcome is unknown", async () => {
    const silent = ({ signal }: { signal?: AbortSignal | undefined }) =>
      new Promise<never>((_, reject) => {
        const late = new ConnectionError("late", { code: Code.DeadlineExceeded, advice: "Look." });
        signal?.addEventListener("abort", () => reject(late));
      });
    const at = transactionsAt({}, loopback, silent);
    using runtime = useVirtualRuntime({ io: true });
    const sending = at.transactions.sendCommand(stopOrder(), { ...options, timeoutMs: 300 });
    expect(await runtime.until(reasonOf(sending))).toBeInstanceOf(OutcomeUnknownError);
    expect(await reasonOf(at.transactions.sendCommand(stopOrder(), { ...options, timeoutMs: 0 }))).toBeInstanceOf(
      RequestError,
    );
    const aborted = at.transactions.sendCommand(stopOrder(), { ...options, signal: AbortSignal.abort() });
    expect(await reasonOf(aborted)).toMatchObject({ code: Code.Canceled });
  });
});

describe("what is asked of the node", () => {
  it("is a submission of one's own", async () => {
    const { transactions, received } = transactionsAt();
    expect(await transactions.submitTransaction({ tx: {}, type: 2 })).toMatchObject(taken);
    const { signal } = new AbortController();
    expect(await transactions.submitTransaction({ tx: {} }, { signal })).toMatchObject(taken);
    expect(received).toHaveLength(2);
  });

  it("is a check, the last block, and statistics, each with a signal", async () => {
    const asked: unknown[] = [];
    const { transactions } = transactionsAt({
      checkTransaction({ tx }) {
        asked.push(tx?.version);
        return { success: true, code: 3 };
      },
      getSpamStatistics({ partyId }) {
        asked.push(partyId);
        return { statistics: { epochSeq: 4n } };
      },
    });
    const tx: MessageInitShape<typeof CoreService.method.checkTransaction.input>["tx"] = { version: 3 };
    expect(await transactions.checkTransaction(tx)).toMatchObject({ success: true, code: 3 });
    expect(await transactions.lastBlockHeight()).toMatchObject({ height: 7n, chainId: "test-1" });
    expect(await transactions.spamStatistics("key")).toMatchObject({ epochSeq: 4n });
    expect(asked).toEqual([3, "key"]);
    const signal = AbortSignal.abort();
    for (const call of [
      transactions.checkTransaction(tx, { signal }),
      transactions.lastBlockHeight({ signal }),
      transactions.spamStatistics("key", { signal }),
    ]) {
      expect(await reasonOf(call)).toMatchObject({ code: Code.Canceled });
    }
  });
});
