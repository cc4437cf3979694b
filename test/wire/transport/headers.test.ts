import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type ClientConfig, createClient, RequestError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { closedUrl, serveNode, serveTcp } from "../../support/node.js";
import { shapeMethod } from "../../support/shapes.js";

const names = ["grpc", "grpc-js", "rest", "auto"] as const;
const listing = { listAllNetworkHistorySegments: () => ({ segments: [] }) };
const range = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

function connect(config: ClientConfig, interceptors: Interceptor[] = []) {
  const client = createClient(config, { interceptors });
  closing.push(() => client.close());
  return client;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "it did not fail",
    (reason: unknown) => reason,
  );
}

describe("headers that only the connection sets", () => {
  const forbidden = [
    "Connection",
    "host",
    "Content-Length",
    "transfer-encoding",
    "te",
    "upgrade",
    "keep-alive",
    "trailer",
  ];

  it.each(names)("are refused where they are given (%s)", async (transport) => {
    await using node = await serveNode(listing);
    const endpoints = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    const service = connect(endpoints).service(TradingDataService);
    for (const name of forbidden) {
      const headers = { [name]: "1" };
      const failure = await failureOf(service.listAllNetworkHistorySegments({}, { headers }));
      expect([name, failure]).toEqual([name, expect.any(RequestError)]);
      expect(String(failure)).toContain(`the header ${name.toLowerCase()} must not be set`);
      const wrong = { ...endpoints, grpc: { ...endpoints.grpc, headers }, rest: { ...endpoints.rest, headers } };
      expect(() => createClient(wrong)).toThrow(RequestError);
      expect(() => createClient(wrong)).toThrow("the connection sets");
    }
    expect(node.connections).toEqual({ grpc: 0, rest: 0 });
  });
});

describe("headers of a call", () => {
  it.each(names)("do not go over plain HTTP to another machine, unless that is allowed (%s)", async (transport) => {
    const url = "http://node.invalid:3007";
    const headers = { authorization: "Bearer a-secret" };
    const service = connect({ transport, grpc: { url }, rest: { url } }).service(TradingDataService);
    const failure = await failureOf(service.listAllNetworkHistorySegments({}, { headers }));
    expect(failure).toBeInstanceOf(RequestError);
    expect(String(failure)).toContain("the header authorization would be sent over plain HTTP to node.invalid");
    expect(String(failure)).not.toContain("a-secret");
    const adding: Interceptor = (next) => (req) => {
      req.header.set("authorization", "Bearer a-secret");
      return next(req);
    };
    const intercepted = connect({ transport, grpc: { url }, rest: { url } }, [adding]);
    expect(await failureOf(intercepted.exportNetworkHistory(range).toZip())).toBeInstanceOf(RequestError);

    const allowed = { url, allowInsecureHeaders: true };
    const other = connect({ transport, grpc: allowed, rest: allowed, retry: { tries: 1 } }).service(TradingDataService);
    expect(String(await failureOf(other.listAllNetworkHistorySegments({}, { headers })))).toContain(
      "could not be resolved",
    );
  });

  it.each(["http_proxy", "grpc_proxy", "https_proxy"])(
    "do not go to the proxy of %s for loopback",
    async (variable) => {
      await using proxy = await serveTcp((socket) => socket.resume());
      await using node = await serveNode(listing);
      const before = process.env[variable];
      process.env[variable] = proxy.url;
      try {
        const headers = { authorization: "Bearer a-secret" };
        const client = connect({ transport: "grpc-js", grpc: { url: node.grpcUrl, headers } });
        expect(await client.listSegments()).toEqual([]);
        expect(proxy.count()).toBe(0);
      } finally {
        if (before === undefined) {
          delete process.env[variable];
        } else {
          process.env[variable] = before;
        }
      }
    },
  );
});

describe("what an interceptor of the caller throws", () => {
  class TokenError extends Error {}
  const errors = [
    new TokenError("no token"),
    new ConnectError("no token", Code.Unauthenticated),
    new TypeError("oops"),
  ];

  it.each(names)("reaches the caller unchanged (%s)", async (transport) => {
    await using node = await serveNode(
      {
        ...listing,
        async *exportNetworkHistory() {
          yield { contentType: "application/zip", data: Buffer.from("PK") };
        },
      },
      { submitTransaction: () => ({ success: true }) },
    );
    const endpoints: ClientConfig = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    for (const error of errors) {
      const before: Interceptor = () => () => Promise.reject(error);
      const after: Interceptor = (next) => async (req) => {
        await next(req);
        throw error;
      };
      const within: Interceptor = (next) => async (req) => {
        const response = await next(req);
        async function* broken<T>(messages: AsyncIterable<T>) {
          yield* messages;
          throw error;
        }
        return response.stream ? { ...response, message: broken(response.message) } : response;
      };
      for (const interceptor of [before, after]) {
        expect(await failureOf(connect(endpoints, [interceptor]).listSegments())).toBe(error);
        expect(await failureOf(connect(endpoints, [interceptor]).submitTransaction({ tx: {} }))).toBe(error);
      }
      const service = connect(endpoints, [within]).service(TradingDataService);
      const read = async () => {
        for await (const _ of service.exportNetworkHistory({})) {
          // Only its end counts.
        }
      };
      expect(await failureOf(read())).toBe(error);
    }
  });

  it("does not stand for what the call throws", async () => {
    const passing: Interceptor = (next) => async (req) => next(req);
    const rest = { url: await closedUrl() };
    const failure = await failureOf(connect({ rest, retry: { tries: 1 } }, [passing]).listSegments());
    expect(failure).toMatchObject({ name: "ConnectionError", code: Code.Unavailable });
  });
});

describe("a method without an HTTP rule", () => {
  it("is refused over REST", async () => {
    const { transport } = connect({ rest: { url: await closedUrl() } });
    const failure = await failureOf(transport.unary(shapeMethod(), undefined, undefined, undefined, {}));
    expect(failure instanceof ConnectError && failure.cause).toBeInstanceOf(RequestError);
  });
});
