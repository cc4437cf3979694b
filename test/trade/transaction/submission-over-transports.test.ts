import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  CanceledError,
  type Client,
  CommandError,
  ConnectionError,
  createClient,
  NodeError,
  OutcomeUnknownError,
  TransactionError,
} from "tradewire";
import {
  CoreService,
  type SubmitTransactionRequest,
  SubmitTransactionRequest_Type,
  SubmitTransactionResponseSchema,
} from "tradewire/gen/vega/api/v1/core_pb.js";
import type { Transaction } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { closedUrl, serveNode, serveTcp } from "../../support/node.js";
import { craft, lastBlockAnswer, sender, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const type = SubmitTransactionRequest_Type.SYNC;
const block = { chainId: "test-1", height: 1n, hash: "00".repeat(32), difficulty: 1, hashFunction: "sha3_24_rounds" };
const failure = (promise: Promise<unknown>) => promise.then(undefined, (reason: unknown) => reason);
/** A cancellation, for which no further call is made. */
const tx: Promise<Transaction> = craft({
  block,
  inputData: { command: { case: "stopOrdersCancellation", value: {} } },
});

let received: SubmitTransactionRequest[] = [];
afterEach(() => {
  received = [];
});

/** Call a node that answers a submission in its own way, over each transport. */
async function eachTransport(
  answer: (request: SubmitTransactionRequest) => Promise<object> | object,
  act: (client: Client, transport: string) => Promise<void>,
): Promise<void> {
  await using node = await serveNode(
    {},
    {
      async submitTransaction(request) {
        received.push(request);
        return create(SubmitTransactionResponseSchema, await answer(request));
      },
    },
  );
  const grpc = { url: node.grpcUrl };
  const rest = { url: node.restUrl };
  for (const config of [
    { transport: "grpc", grpc },
    { transport: "grpc-js", grpc },
    { transport: "rest", rest },
    { transport: "auto", grpc, rest },
  ] as const) {
    received = [];
    await using client = createClient({ ...config, retry: { tries: 5, baseMs: 1 }, timeouts: { callMs: 60_000 } });
    await act(client, config.transport);
  }
}

describe("a refused transaction", () => {
  const refused = { success: false, txHash: "AB", code: 51, data: '{"tx.version": ["is wrong"]}', log: "no" };

  test("is an error with code, data and log", async () => {
    await eachTransport(
      () => refused,
      async (client) => {
        const error = await failure(client.submitTransaction({ tx: await tx, type }));
        expect(error).toBeInstanceOf(TransactionError);
        expect(error).toMatchObject({ result: { ...refused, height: 0n }, data: { "tx.version": ["is wrong"] } });
        expect(received).toHaveLength(1);
      },
    );
  });

  test("is a result where that is wanted", async () => {
    await eachTransport(
      () => refused,
      async (client) => {
        const result = await client.submitTransaction({ tx: await tx, type }, { throwOnRejection: false });
        expect(result).toMatchObject({ ...refused, height: 0n });
      },
    );
  });

  test.each(["", "not JSON", "{not JSON", '{"half": '])("has data that is no JSON as it came: %j", async (data) => {
    await using node = await serveNode({}, { submitTransaction: () => ({ code: 51, data, log: "why\nnot" }) });
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    const error = await failure(client.submitTransaction({ tx: await tx, type }));
    expect(error).toMatchObject({ data, summary: expect.stringContaining("why not") });
  });
});

describe("where the outcome is unknown", () => {
  test.each([Code.Unavailable, Code.DeadlineExceeded, Code.Internal, Code.Unknown])(
    "the error says so, and the transaction is sent once: %s",
    async (code) => {
      await eachTransport(
        () => {
          throw new ConnectError("lost", code);
        },
        async (client) => {
          const sent = await tx;
          const error = await failure(client.submitTransaction({ tx: sent, type }));
          expect(error).toBeInstanceOf(OutcomeUnknownError);
          expect(error).toMatchObject({
            code,
            transaction: { tid: sent.pow?.tid, publicKey: sender.publicKey, signature: sent.signature?.value },
            message: expect.stringContaining(
              `it is unknown whether the node accepted the transaction ${sent.pow?.tid}`,
            ),
            cause: expect.any(NodeError),
          });
          expect(received).toHaveLength(1);
        },
      );
    },
  );

  test("a connection that ends after the request is such a case, one that was never made is not", async () => {
    await using server = await serveTcp((socket) => socket.once("data", () => socket.destroy()));
    const rest = { url: server.url };
    await using lost = createClient({ transport: "rest", rest, retry: { tries: 5, baseMs: 1 } });
    expect(await failure(lost.submitTransaction({ tx: await tx, type }))).toBeInstanceOf(OutcomeUnknownError);
    expect(server.count()).toBe(1);
    for (const config of [
      { transport: "rest", rest: { url: await closedUrl() } },
      { transport: "grpc", grpc: { url: await closedUrl() } },
      { transport: "grpc-js", grpc: { url: await closedUrl() } },
    ] as const) {
      await using none = createClient(config);
      const error = await failure(none.submitTransaction({ tx: await tx, type }));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ connected: false });
    }
  });

  test("a caller that gives up is told too, unless nothing was sent", async () => {
    const abort = new AbortController();
    await eachTransport(
      () => {
        setImmediate(() => abort.abort());
        return once(abort.signal, "abort").then(() => ({}));
      },
      async (client, transport) => {
        const error = await failure(client.submitTransaction({ tx: await tx, type }, { signal: abort.signal }));
        // The first transport's caller gives up while it waits; the others' had before.
        expect(error).toBeInstanceOf(transport === "grpc" ? OutcomeUnknownError : CanceledError);
        expect(received).toHaveLength(transport === "grpc" ? 1 : 0);
      },
    );
  });
});

test("a node that does not take the request at all answers with an error", async () => {
  await eachTransport(
    () => {
      throw new ConnectError("tx is malformed", Code.InvalidArgument);
    },
    async (client) => {
      expect(await failure(client.submitTransaction({ tx: await tx, type }))).toBeInstanceOf(NodeError);
      expect(received).toHaveLength(1);
    },
  );
});

describe("the allowance", () => {
  const last = lastBlockAnswer;

  test("a banned key sends nothing", async () => {
    const statistics = { pow: { blockStates: [], bannedUntil: "2030-01-01" } };
    await using node = await serveNode({}, { lastBlockHeight: () => last, getSpamStatistics: () => ({ statistics }) });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await expect(client.sendCommand(stopOrder(), { signer: sender })).rejects.toThrow("until 2030-01-01");
  });

  test("a node without statistics is counted for by the client alone", async () => {
    await using node = await serveNode({}, { lastBlockHeight: () => last });
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    expect(await client.signCommand(stopOrder(), { signer: sender })).toMatchObject({ version: 3 });
  });

  test("a hash function that is not known is refused", async () => {
    await using node = await serveNode({}, { lastBlockHeight: () => ({ ...last, spamPowHashFunction: "md5" }) });
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    await expect(client.sendCommand(stopOrder(), { signer: sender })).rejects.toThrow('unknown hash function "md5"');
  });

  test("a wrong command asks the node for nothing", async () => {
    let asked = 0;
    const lastBlockHeight = () => {
      asked += 1;
      return last;
    };
    await using node = await serveNode({}, { lastBlockHeight });
    await using client = createClient({ transport: "rest", rest: { url: node.restUrl } });
    const error = await failure(client.sendCommand(stopOrder("0"), { signer: sender }));
    expect(error).toBeInstanceOf(CommandError);
    expect(asked).toBe(0);
  });
});

describe("a submission that ends while it waits for its turn", () => {
  const waiting = { limits: { callsPerSecond: 1 }, timeouts: { callMs: 300 } };
  const last = { ...lastBlockAnswer, spamPowNumberOfTxPerBlock: 1, spamPowIncreasingDifficulty: false };
  const serve = () =>
    serveNode(
      {},
      {
        lastBlockHeight: () => last,
        getSpamStatistics: () => ({}),
        submitTransaction(request) {
          received.push(request);
          return { success: true };
        },
      },
    );

  test.each(["grpc", "grpc-js", "rest", "auto"] as const)("is told as not sent (%s)", async (transport) => {
    using runtime = useVirtualRuntime({ io: true, unixMs: Date.now() }); // The next turn comes after a second.
    await using node = await serve();
    const urls = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    await using client = createClient({ transport, ...urls, ...waiting });
    await runtime.until(client.lastBlockHeight());
    const submit = async (signal?: AbortSignal) =>
      failure(client.submitTransaction({ tx: await tx, type }, signal && { signal }));
    const late = await runtime.until(submit());
    expect(late).toBeInstanceOf(ConnectionError);
    expect(late).toMatchObject({
      code: Code.DeadlineExceeded,
      connected: false,
      summary: expect.stringMatching(
        /^the deadline of the call passed before it could be sent(?= \(previously over grpc|$)/,
      ),
      method: "vega.api.v1.CoreService/SubmitTransaction",
    });
    const abort = new AbortController();
    const canceling = submit(abort.signal);
    await runtime.pass(20);
    abort.abort();
    const canceled = await canceling;
    expect(canceled).toBeInstanceOf(CanceledError);
    expect(canceled).toMatchObject({ mayHaveBeenSent: false });
    const timeout = await submit(AbortSignal.timeout(20));
    expect(timeout).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded, connected: false });
    expect(received).toEqual([]);
  });

  test("gives its part of the block's allowance back", async () => {
    await using node = await serve();
    const abort = new AbortController();
    const config = { transport: "grpc", grpc: { url: node.grpcUrl }, limits: { callsPerSecond: 2 } } as const;
    const hooks = {
      onWait({ method }: { readonly method: string }) {
        if (method.endsWith("/SubmitTransaction")) {
          setImmediate(() => abort.abort());
        }
      },
    };
    await using client = createClient(config, { hooks });
    const others = new AbortController();
    let ends: Promise<unknown> = Promise.resolve();
    const signer = {
      ...sender,
      sign(message: Uint8Array) {
        const options = { signal: others.signal, timeoutMs: 60_000 };
        const core = client.service(CoreService);
        ends = Promise.allSettled(Array.from({ length: 40 }, () => core.lastBlockHeight({}, options)));
        return sender.sign(message);
      },
    };
    const given = { signer, signal: abort.signal };
    expect(await failure(client.sendCommand(stopOrder(), given))).toBeInstanceOf(CanceledError);
    expect(received).toEqual([]);
    others.abort();
    await ends;
    // Without it, this would wait for another block, which never comes.
    expect(await client.signCommand(stopOrder(), { signer: sender, timeoutMs: 30_000 })).toMatchObject({ version: 3 });
  });
});
