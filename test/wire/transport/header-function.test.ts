import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  type Client,
  type ClientConfig,
  Code,
  ConnectionError,
  createClient,
  type HeaderFunction,
  RequestError,
} from "tradewire";
import { frame, type GrpcAnswer, startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp, whole } from "../../support/raw-http.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const node = await startGrpcServer();
const gateway = await startRawHttp();
afterAll(() => Promise.all([node.close(), gateway.close()]));

const METHOD = "datanode.api.v2.TradingDataService/ListAllNetworkHistorySegments";
const OK: GrpcAnswer = { pieces: [frame(new Uint8Array())], ending: { "grpc-status": "0" } };
const EMPTY = whole("200 OK", "{}", { "content-type": "application/json" });
const never = () => new Promise<never>(() => undefined);

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );

/** The requests that a node has received, as far as these tests care. */
const received = () => [
  ...node.calls.map(({ headers }) => headers["authorization"]),
  ...gateway.requests.map(({ headers }) => headers.get("authorization")),
];

beforeEach(() => {
  node.calls.length = 0;
  gateway.requests.length = 0;
  node.answer = OK;
  gateway.answer = EMPTY;
});

async function withClient<T>(transport: Transport, headers: HeaderFunction, use: (client: Client) => Promise<T>) {
  const config: ClientConfig = {
    transport,
    grpc: { url: node.url, headers },
    rest: { url: gateway.url, headers },
    retry: { baseMs: 1, maxMs: 1 },
  };
  await using client = createClient(config);
  return await use(client);
}

type Transport = "grpc" | "grpc-js" | "rest";
const transports: Transport[] = ["grpc", "grpc-js", "rest"];

describe.each(transports)("a function for headers, over %s", (transport) => {
  it("is called for each attempt, with the method", async () => {
    node.answer = () => (node.calls.length === 1 ? { ending: { "grpc-status": "14" } } : OK);
    gateway.answer = () => (gateway.requests.length === 1 ? whole("503 Busy", "") : EMPTY);
    const methods: string[] = [];
    const headers: HeaderFunction = ({ method }) => {
      methods.push(method);
      return { authorization: `token ${methods.length}` };
    };
    await withClient(transport, headers, (client) => client.listSegments());
    expect(methods).toEqual([METHOD, METHOD]);
    expect(received()).toEqual(["token 1", "token 2"]);
  });

  it("is called for streams, and a call's own headers win", async () => {
    const headers: HeaderFunction = async () => ({ authorization: "of the function", "x-other": "1" });
    await withClient(transport, headers, (client) => {
      const options = { headers: { authorization: "of the call" } };
      return failureOf(client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 10 }, options).toZip());
    });
    expect(received()).toEqual(["of the call"]);
    const { headers: sent } = node.calls[0] ?? {};
    expect(sent?.["x-other"] ?? gateway.requests[0]?.headers.get("x-other")).toBe("1");
  });

  it("fails the call if it fails, before anything is sent", async () => {
    const cause = new Error("the token server is down");
    for (const headers of [
      () => Promise.reject(cause),
      () => {
        throw cause;
      },
    ]) {
      const error = await failureOf(withClient(transport, headers, (client) => client.listSegments()));
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({ summary: "the headers function failed", cause, method: METHOD });
    }
    expect(received()).toEqual([]);
  });

  it("fails the call if it returns invalid headers, and shows no value", async () => {
    const form = 'must be an object of headers, such as {"authorization":"Bearer ..."}';
    const invalid: readonly (readonly [returned: unknown, message: string])[] = [
      [["a secret"], `the result of the headers function ${form}`],
      [() => ({}), `the result of the headers function ${form}`],
      [new Headers({ a: "secret" }), `the result of the headers function ${form}`],
      [{ "a secret": "1" }, "a header from the headers function has an invalid name: use"],
      [{ Host: "secret" }, "a header from the headers function must not be set: the connection"],
      [{ authorization: "a\nsecret" }, "the header authorization from the headers function must not contain line"],
      [{ authorization: 5 }, "the header authorization from the headers function must be a string"],
    ];
    for (const [returned, message] of invalid) {
      const error = await failureOf(
        withClient(
          transport,
          () => Object(returned),
          (client) => client.listSegments(),
        ),
      );
      expect(error).toBeInstanceOf(RequestError);
      expect(String(error)).toContain(message);
      expect(String(error)).not.toContain("secret");
    }
    expect(received()).toEqual([]);
  });

  it("has the time of the call, and ends with it", async () => {
    let signal: AbortSignal | undefined;
    const headers: HeaderFunction = (call) => {
      ({ signal } = call);
      return never();
    };
    const late = await failureOf(withClient(transport, headers, (client) => client.listSegments({ timeoutMs: 20 })));
    expect(late).toBeInstanceOf(ConnectionError);
    expect(late).toMatchObject({
      code: Code.DeadlineExceeded,
      connected: false,
      summary: "the deadline of the call passed before the headers function returned",
    });
    expect(signal?.aborted).toBe(true);
    const abort = new AbortController();
    const listing = withClient(transport, headers, (client) => {
      const segments = client.listSegments({ signal: abort.signal });
      setImmediate(() => abort.abort());
      return segments;
    });
    const canceled = await failureOf(listing);
    expect(canceled).toBeInstanceOf(CanceledError);
    expect(canceled).toMatchObject({ mayHaveBeenSent: false });
    expect(signal?.aborted).toBe(true);
    expect(received()).toEqual([]);
  });

  it("goes over plain HTTP to another machine only if that is allowed", () => {
    const url = "http://node.example:3007";
    const headers: HeaderFunction = () => ({});
    const endpoint = transport === "rest" ? "rest" : "grpc";
    const create = (allowInsecureHeaders: boolean) => {
      const given = { url, headers, allowInsecureHeaders };
      return createClient(transport === "rest" ? { transport, rest: given } : { transport, grpc: given });
    };
    expect(() => create(false)).toThrow(`${endpoint}.headers would be sent over plain HTTP to node.example`);
    expect(() => create(true)).not.toThrow();
  });
});

it("the time that a function for headers takes is part of the call's", async () => {
  const headers: HeaderFunction = async () => {
    await delay(30);
    return {};
  };
  await withClient("grpc", headers, (client) => client.listSegments({ timeoutMs: 10_000 }));
  const timeout = Number(/^(\d+)m$/.exec(String(node.calls[0]?.headers["grpc-timeout"]))?.[1]);
  expect(timeout).toBeLessThan(9990);
});

it("a function for headers that does not return costs a read only its transport's share of the time", async () => {
  using runtime = useVirtualRuntime({ io: true });
  let signal: AbortSignal | undefined;
  const headers: HeaderFunction = (call) => {
    ({ signal } = call);
    return never();
  };
  await using client = createClient({
    transport: "auto",
    grpc: { url: node.url, headers },
    rest: { url: gateway.url },
  });
  expect(await runtime.until(client.listSegments({ timeoutMs: 20_000 }))).toEqual([]);
  expect(signal?.aborted).toBe(true);
  expect([node.calls.length, gateway.requests.length]).toEqual([0, 1]);
});

it("a function for headers leaves no timer behind", async () => {
  using runtime = useVirtualRuntime({ io: true });
  await withClient(
    "grpc",
    () => ({ authorization: "token" }),
    async (client) => {
      await runtime.until(client.listSegments({ timeoutMs: 60_000 }));
      expect(runtime.refs()).toBe(0);
    },
  );
});

it("a function for headers is called for WebSockets", async () => {
  gateway.answer = whole("404 Not Found", "");
  const headers: HeaderFunction = () => ({ authorization: "token" });
  await withClient("rest", headers, async (client) => {
    const events = client.events({ types: ["order"] })[Symbol.asyncIterator]();
    return failureOf(events.next());
  });
  expect(gateway.requests[0]?.headers.get("upgrade")).toBe("websocket");
  expect(received()[0]).toBe("token");
});
