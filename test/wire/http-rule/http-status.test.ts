import { ConnectError } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import {
  BannedError,
  CanceledError,
  Code,
  CommandError,
  ConnectionError,
  FileError,
  httpStatusOf,
  NodeError,
  OutcomeUnknownError,
  PolicyError,
  ProtocolError,
  RequestError,
  SlowConsumerError,
  TransactionError,
} from "tradewire";
import { SinkError } from "tradewire/sync";

const of = (code: Code) => new NodeError({ code, message: "", details: [] });
const lost = new ConnectionError("lost", { code: Code.Unavailable });
const sent = { txHash: "", tid: "", publicKey: "", signature: "" };
const refused = { success: false, txHash: "", code: 60, data: "", log: "", height: 1n };
const rule = { rule: "maxSize", limit: "1", value: "2", headline: "x", advice: "" };

it.each<[unknown, number]>([
  [new RequestError("x"), 400],
  [new RequestError("x", { errorCode: "TW_NOT_LISTED" }), 404],
  // The service's own settings are wrong.
  [new RequestError("x", { errorCode: "TW_CONFIGURATION" }), 500],
  [new RequestError("x", { errorCode: "TW_CHAIN_MISMATCH" }), 500],
  [new RequestError("x", { errorCode: "TW_NO_KEY" }), 500],
  [new CommandError([]), 400],
  [new TransactionError(refused), 400],
  [new PolicyError(rule), 403],
  [of(Code.InvalidArgument), 400],
  [of(Code.OutOfRange), 400],
  [of(Code.FailedPrecondition), 400],
  [of(Code.NotFound), 404],
  [of(Code.AlreadyExists), 409],
  [of(Code.Unimplemented), 501],
  [of(Code.Unavailable), 503],
  [of(Code.Aborted), 503],
  [of(Code.ResourceExhausted), 503],
  [of(Code.DeadlineExceeded), 504],
  // The service's own credentials are wrong, not those of its client.
  [of(Code.Unauthenticated), 502],
  [of(Code.PermissionDenied), 502],
  [of(Code.Internal), 502],
  [of(Code.Unknown), 502],
  [of(Code.DataLoss), 502],
  [of(Code.Canceled), 502],
  [new BannedError(new Date(0)), 503],
  [new SlowConsumerError({ stream: "the stream", missing: () => "" }, lost), 503],
  [lost, 503],
  [new ConnectionError("late", { code: Code.DeadlineExceeded }), 504],
  [new ConnectionError("closed", { code: Code.Canceled, isClosed: true }), 503],
  [new ProtocolError("x", { code: Code.ResourceExhausted }), 502],
  [new OutcomeUnknownError(sent, lost), 502],
  [new CanceledError(), 499],
  [new FileError("full", { code: Code.ResourceExhausted }), 500],
  [new SinkError("x", { code: Code.Unavailable }), 503],
  [new SinkError("x", { code: Code.ResourceExhausted }), 500],
  [new ConnectError("x", Code.Unavailable, undefined, undefined, of(Code.NotFound)), 404],
  [new ConnectError("x", Code.NotFound), 404],
  [new Error("x"), 500],
  [undefined, 500],
  // google/rpc/code.proto, "HTTP Mapping".
  [Code.Unauthenticated, 401],
  [Code.ResourceExhausted, 429],
  [Code.Internal, 500],
])("%s is answered with %d", (error, status) => {
  expect(httpStatusOf(error)).toBe(status);
});

it("an error can be written as JSON, and names what explains it beside its message", () => {
  const error = new TransactionError(refused);
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ result: { height: "1" } });
  expect(error.message).toBe(`${error.summary}\n${error.advice}`);
  expect(error.explanation).toBe("For details, run: npx tradewire explain TW_TRANSACTION_REFUSED");
});
