import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, ConnectionError, NodeError, ProtocolError, RequestError, type TradewireError } from "tradewire";
import { withEarlierFailures } from "../../../../src/wire/transport/layers/fallback.js";
import { thrown } from "../../../support/memory-transport.js";

const URL = "http://node.example:3007";
const details = [{ "@type": "type.googleapis.com/test.Detail", why: "so" }];
const below = new Error("below");
const options = { advice: "Look.", details, cause: below };
const refused = new ConnectionError("the connection was refused", {
  ...options,
  notes: [URL],
  code: Code.Unavailable,
  connected: false,
});
const BEFORE = "previously over grpc: the connection was refused, http://node.example:3007";

/** The last failure, over REST, which names an earlier one over gRPC. */
function named(error: TradewireError, earlier: TradewireError[] = [refused]): ConnectError {
  error.transport = "rest";
  error.method = "test.Probe/Read";
  const reason = thrown(error, { "x-header": "1" });
  reason.details = [{ type: "test.Detail", value: new Uint8Array() }];
  const whole = withEarlierFailures(
    reason,
    error,
    earlier.map((each) => ({ name: "grpc", error: each })),
  );
  expect(whole).toBeInstanceOf(ConnectError);
  expect(whole).toMatchObject({ rawMessage: reason.rawMessage, code: error.code, details: reason.details });
  expect(whole instanceof ConnectError && whole.metadata.get("x-header")).toBe("1");
  return whole as ConnectError;
}

describe("the last failure", () => {
  it("passes unchanged where it is the only one", () => {
    const reason = thrown(refused);
    expect(withEarlierFailures(reason, refused, [])).toBe(reason);
  });

  it.each<[string, TradewireError, string]>([
    [
      "of a connection",
      new ConnectionError("the connection timed out", {
        ...options,
        notes: [URL],
        code: Code.Internal,
        connected: false,
      }),
      `the connection timed out (${URL}; ${BEFORE})`,
    ],
    [
      "of a connection that was there",
      new ConnectionError("the connection was lost", { ...options, code: Code.Unavailable, connected: true }),
      `the connection was lost (${BEFORE})`,
    ],
    [
      "of an answer",
      new ProtocolError("the response is empty", { ...options, notes: [URL], code: Code.Internal }),
      `the response is empty (${URL}; ${BEFORE})`,
    ],
  ])("%s names the earlier ones and keeps all else", (_, error, summary) => {
    const { cause } = named(error);
    expect(cause).toBeInstanceOf(error.constructor);
    expect(cause).toMatchObject({
      summary,
      code: error.code,
      advice: "Look.",
      details,
      cause: below,
      transport: "rest",
      method: "test.Probe/Read",
      ...("connected" in error && { connected: error.connected }),
    });
  });

  it("of a request names the earlier ones", () => {
    const { cause } = named(new RequestError("the request is too large", { advice: "Cut it.", cause: below }));
    expect(cause).toBeInstanceOf(RequestError);
    expect(cause).toMatchObject({
      summary: `the request is too large (${BEFORE})`,
      advice: "Cut it.",
      cause: below,
      code: Code.InvalidArgument,
    });
  });

  it("of the node keeps what is known of its answer", () => {
    const http = { status: 404, location: null };
    const object = { code: Code.NotFound, message: "no such thing", details };
    const { cause } = named(new NodeError(object, { cause: below, http, isRefusal: true }));
    expect(cause).toBeInstanceOf(NodeError);
    expect(cause).toMatchObject({
      object,
      http,
      isRefusal: true,
      summary: `the server answered NOT_FOUND: no such thing (${BEFORE})`,
      cause: below,
    });
  });

  it("of another kind passes unchanged", () => {
    const error = new CanceledError();
    const reason = thrown(error);
    expect(withEarlierFailures(reason, error, [{ name: "grpc", error: refused }])).toBe(reason);
  });

  it("names all earlier ones in their order", () => {
    const timeUp = new ConnectionError("the deadline (of the call) passed", {
      ...options,
      code: Code.DeadlineExceeded,
    });
    const { cause } = named(new ProtocolError("odd", { advice: "Look." }), [refused, timeUp]);
    expect(cause).toMatchObject({
      summary: `odd (${BEFORE}; previously over grpc: the deadline of the call passed)`,
    });
  });

  it("names earlier ones without parentheses, wherever those are", () => {
    const earlier = new ProtocolError(`a (${URL}) b (c)`, { advice: "Look." });
    const { cause } = named(new ProtocolError("odd", { advice: "Look." }), [earlier]);
    expect(cause).toMatchObject({ summary: `odd (previously over grpc: a ${URL} b c)` });
  });

  it("may have a text of several lines, and parentheses of its own", () => {
    const { cause } = named(new ProtocolError("one (1)\ntwo (2)", { advice: "Look." }));
    expect(cause).toMatchObject({ summary: `one (1)\ntwo (2) (${BEFORE})` });
    const { cause: other } = named(
      new ProtocolError(`a (${URL}) b`, { advice: "Look.", notes: ["https://b.example", "c"] }),
    );
    expect(other).toMatchObject({ summary: `a (${URL}) b (https://b.example; c; ${BEFORE})` });
  });
});
