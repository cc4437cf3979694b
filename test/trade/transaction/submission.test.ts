import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  ConnectionError,
  NodeError,
  OutcomeUnknownError,
  ProtocolError,
  RequestError,
  type SubmitOptions,
  type TradewireError,
  TransactionError,
} from "tradewire";
import {
  type SubmitTransactionRequest,
  SubmitTransactionRequest_Type,
  SubmitTransactionRequestSchema,
  SubmitTransactionResponseSchema,
} from "tradewire/gen/vega/api/v1/core_pb.js";
import type { TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { submissionTypes, submitOnce } from "../../../src/trade/transaction/submission.js";

const tx: MessageInitShape<typeof TransactionSchema> = {
  pow: { tid: "c4".repeat(32), nonce: 1n },
  from: { case: "pubKey", value: "5e".repeat(32) },
  signature: { value: "ab".repeat(64), algo: "vega/ed25519", version: 1 },
};
const type = SubmitTransactionRequest_Type.ASYNC;
const taken = { success: true, txHash: "AB", code: 0, data: "", log: "", height: 3n };

/** Submit to a node that answers as given, and see what reached it. */
function submit(
  answer: () => MessageInitShape<typeof SubmitTransactionResponseSchema>,
  options: SubmitOptions = {},
  given: MessageInitShape<typeof TransactionSchema> | undefined = tx,
) {
  const received: [SubmitTransactionRequest, AbortSignal | undefined][] = [];
  const service = {
    async submitTransaction(request: MessageInitShape<typeof SubmitTransactionRequestSchema>, call?: SubmitOptions) {
      received.push([create(SubmitTransactionRequestSchema, request), call?.signal]);
      return create(SubmitTransactionResponseSchema, answer());
    },
  };
  return { result: submitOnce(service, { tx: given, type }, options), received };
}

const failing = (reason: unknown) => () => {
  throw reason;
};
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );

describe("a submission", () => {
  it("sends the request once, with its signal, and has the node's answer", async () => {
    const { signal } = new AbortController();
    const { result, received } = submit(() => taken, { signal });
    expect(await result).toMatchObject(taken);
    expect(received).toEqual([[expect.objectContaining({ type }), signal]]);
    expect(received[0]?.[0].tx).toMatchObject(tx);
  });

  it("without a transaction is refused, and nothing is sent", async () => {
    const received: unknown[] = [];
    const service = {
      async submitTransaction(request: unknown) {
        received.push(request);
        return create(SubmitTransactionResponseSchema, taken);
      },
    };
    const reason = await reasonOf(submitOnce(service, { type }, {}));
    expect(reason).toBeInstanceOf(RequestError);
    expect(reason).toMatchObject({
      summary: "tx is required",
      advice: "Set it to the signed transaction.",
    });
    expect(received).toEqual([]);
  });

  it("of a caller that has given up is not sent", async () => {
    const cause = new Error("enough");
    const { result, received } = submit(() => taken, { signal: AbortSignal.abort(cause) });
    const reason = await reasonOf(result);
    expect(reason).toBeInstanceOf(CanceledError);
    expect(reason).toMatchObject({ cause });
    expect(received).toEqual([]);
  });

  it("that is refused is an error, unless a result is wanted", async () => {
    const refused = { ...taken, success: false, code: 51, data: "no" };
    const reason = await reasonOf(submit(() => refused).result);
    expect(reason).toBeInstanceOf(TransactionError);
    expect(reason).toMatchObject({ result: refused });
    expect(await submit(() => refused, { throwOnRejection: false }).result).toMatchObject(refused);
    expect(await submit(() => taken, { throwOnRejection: true }).result).toMatchObject(taken);
  });
});

describe("a submission that fails", () => {
  const connection = (connected: boolean) =>
    new ConnectionError("lost", { code: Code.Unavailable, advice: "Look.", connected });
  const node = (code: Code, isRefusal = true) => new NodeError({ code, message: "no", details: [] }, { isRefusal });
  const refusing = [
    Code.InvalidArgument,
    Code.NotFound,
    Code.PermissionDenied,
    Code.Unauthenticated,
    Code.Unimplemented,
    Code.FailedPrecondition,
    Code.OutOfRange,
    Code.ResourceExhausted,
  ];
  const unsure = [
    Code.Canceled,
    Code.Unknown,
    Code.DeadlineExceeded,
    Code.AlreadyExists,
    Code.Aborted,
    Code.Internal,
    Code.Unavailable,
    Code.DataLoss,
  ];

  it.each<[string, TradewireError]>([
    ["the connection was lost", connection(true)],
    ["the answer is broken", new ProtocolError("odd", { advice: "Look." })],
    ["the answer is too large", new ProtocolError("large", { code: Code.ResourceExhausted, advice: "Look." })],
    ["the caller gives up", new CanceledError()],
    ...unsure.map((code): [string, TradewireError] => [`the node answers ${Code[code]}`, node(code)]),
    ...refusing.map((code): [string, TradewireError] => [`something else answers ${Code[code]}`, node(code, false)]),
  ])("may have been taken where %s", async (_, cause) => {
    const reason = await reasonOf(submit(failing(cause)).result);
    expect(reason).toBeInstanceOf(OutcomeUnknownError);
    expect(reason).toMatchObject({
      cause,
      code: cause.code,
      transaction: { tid: "c4".repeat(32), publicKey: "5e".repeat(32), signature: "ab".repeat(64) },
    });
  });

  it.each<[string, unknown]>([
    ["there was no connection", connection(false)],
    ["the request was wrong", new RequestError("no", { advice: "Look." })],
    ["no error of the library says so", new Error("oops")],
    ...refusing.map((code): [string, TradewireError] => [`the node answers ${Code[code]}`, node(code)]),
  ])("was not taken where %s", async (_, reason) => {
    expect(await reasonOf(submit(failing(reason)).result)).toBe(reason);
  });

  it("names the call", async () => {
    const cause = Object.assign(connection(true), { transport: "grpc", method: "a.B/C" });
    expect(await reasonOf(submit(failing(cause)).result)).toMatchObject({ transport: "grpc", method: "a.B/C" });
  });

  it.each([
    [{}, { tid: "", publicKey: "", signature: "" }],
    [{ from: { case: "address", value: "x" } } as const, { publicKey: "" }],
  ])("names the transaction by what it has: %j", async (given, transaction) => {
    expect(await reasonOf(submit(failing(connection(true)), {}, given).result)).toMatchObject({ transaction });
  });
});

it("the types of submissions are the network's", () => {
  expect(submissionTypes).toEqual({
    sync: SubmitTransactionRequest_Type.SYNC,
    async: SubmitTransactionRequest_Type.ASYNC,
    commit: SubmitTransactionRequest_Type.COMMIT,
  });
});
