import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  type Client,
  type ClientConfig,
  ConnectionError,
  createClient,
  type ErrorObject,
  NodeError,
  TradewireError,
} from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import type { StatusSchema } from "tradewire/gen/google/rpc/status_pb.js";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import {
  failureTrailers,
  frame,
  type GrpcAnswer,
  type GrpcServer,
  startGrpcServer,
} from "../../support/grpc-server.js";
import { chunk, head, type RawAnswer, type RawHttpServer, startRawHttp, whole } from "../../support/raw-http.js";

const LIST = "datanode.api.v2.TradingDataService/ListAllNetworkHistorySegments";
const EXPORT = "datanode.api.v2.TradingDataService/ExportNetworkHistory";
const transports = ["grpc", "rest"] as const;

let grpcServer: GrpcServer;
let restServer: RawHttpServer;
let client: Client | undefined;

beforeAll(async () => {
  grpcServer = await startGrpcServer();
  restServer = await startRawHttp();
});
afterEach(async () => {
  await client?.close();
  client = undefined;
  grpcServer.calls.length = 0;
  restServer.requests.length = 0;
});
afterAll(async () => {
  await grpcServer.close();
  await restServer.close();
});

function connect(
  transport: (typeof transports)[number],
  urls = { grpc: grpcServer.url, rest: restServer.url },
): Client {
  const limits: ClientConfig["limits"] = { maxMessageBytes: 2048, maxJsonBytes: 2048 };
  client = createClient({ transport, grpc: { url: urls.grpc }, rest: { url: urls.rest }, limits });
  return client;
}

type Call = (client: Client, signal?: AbortSignal) => Promise<unknown>;

const list: Call = (node, signal) => node.listSegments(signal && { signal });
const exported: Call = async (node, signal) => {
  const request = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;
  for await (const _ of node.exportNetworkHistory(request, { extensions: "optional", signal }).bytes()) {
    // Only the failure matters here.
  }
};

/** The error of this library that a call fails with. */
async function failure(promise: Promise<unknown>): Promise<TradewireError> {
  const reason: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof TradewireError)) {
    throw new Error("an error of the library was expected", { cause: reason });
  }
  return reason;
}

const PART = frame(
  toBinary(
    HttpBodySchema,
    create(HttpBodySchema, { contentType: "application/zip", data: Buffer.from("PK\u0003\u0004") }),
  ),
);
const ENVELOPE = '{"result":{"contentType":"application/zip","data":"UEsDBA=="}}\n';
const JSON_TYPE = { "content-type": "application/json" };
const STREAM = head("200 OK", { ...JSON_TYPE, "transfer-encoding": "chunked" });
describe("a failure is the same over both transports", () => {
  const failing = (error: ErrorObject, status: MessageInitShape<typeof StatusSchema>) => ({ error, status });
  const detail = { code: 10, message: "no segment", inner: "1-7" };
  const refusal = failing(
    {
      code: Code.InvalidArgument,
      message: "bad range:\n1 to 7",
      details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", ...detail }],
    },
    {
      code: Code.InvalidArgument,
      message: "bad range:\n1 to 7",
      details: [anyPack(ErrorDetailSchema, create(ErrorDetailSchema, detail))],
    },
  );
  const trailers = failureTrailers({ code: 3, message: "bad range:\n1 to 7", ...refusal.status });

  it.each<[string, Call, { grpc: GrpcAnswer; rest: RawAnswer }]>([
    [
      "listing",
      list,
      {
        grpc: { headers: trailers, ending: "end" },
        rest: whole("400 Bad Request", JSON.stringify(refusal.error), JSON_TYPE),
      },
    ],
    [
      "exporting, at once",
      exported,
      {
        grpc: { ending: trailers },
        rest: whole("400 Bad Request", JSON.stringify({ error: refusal.error }), JSON_TYPE),
      },
    ],
    [
      "exporting, after a chunk",
      exported,
      {
        grpc: { pieces: [PART], ending: trailers },
        rest: whole("200 OK", ENVELOPE + JSON.stringify({ error: refusal.error }), JSON_TYPE),
      },
    ],
  ])("an error object of the node, %s", async (_, call, answers) => {
    grpcServer.answer = answers.grpc;
    restServer.answer = answers.rest;
    for (const transport of transports) {
      const error = await failure(call(connect(transport)));
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ object: refusal.error, details: refusal.error.details, transport });
      // A message of several lines does not make the error's own two into more.
      expect(error.message).toBe(
        "the node answered INVALID_ARGUMENT: bad range: 1 to 7: no segment: 1-7\n" +
          "Correct the request: the node's message and the details say what is invalid.",
      );
      expect(error.toJSON()).toEqual({
        name: "NodeError",
        code: "INVALID_ARGUMENT",
        message: "the node answered INVALID_ARGUMENT: bad range: 1 to 7: no segment: 1-7",
        advice: "Correct the request: the node's message and the details say what is invalid.",
        errorCode: "TW_NODE_REFUSED",
        details: refusal.error.details,
        transport,
        method: call === list ? LIST : EXPORT,
      });
      await client?.close();
    }
  });

  it("a node of the other transport", async () => {
    grpcServer.answer = { ending: "end" };
    restServer.answer = whole("400 Bad Request", "", {});
    for (const transport of transports) {
      const error = await failure(list(connect(transport, { grpc: restServer.url, rest: grpcServer.url })));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error.code).toBe(Code.Unavailable);
      expect(error.summary).toContain("the server does not speak the protocol of this transport");
      await client?.close();
    }
  });

  it("a call that was aborted", async () => {
    grpcServer.answer = { pieces: [PART], ending: "keep" };
    restServer.answer = { pieces: [STREAM, chunk(ENVELOPE)], ending: "keep" };
    for (const transport of transports) {
      for (const call of [list, exported]) {
        const abort = new AbortController();
        const waiting = failure(call(connect(transport), abort.signal));
        while (grpcServer.calls.length + restServer.requests.length === 0) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        abort.abort(new Error("enough"));
        const error = await waiting;
        expect(error).toBeInstanceOf(CanceledError);
        expect(error).toMatchObject({ code: Code.Canceled, transport, cause: { message: "enough" } });
        await client?.close();
        grpcServer.calls.length = 0;
        restServer.requests.length = 0;
      }
      const before = await failure(list(connect(transport), AbortSignal.abort()));
      expect(before).toBeInstanceOf(CanceledError);
      await client?.close();
    }
    expect([...grpcServer.calls, ...restServer.requests]).toEqual([]);
  });
});

describe("details of errors", () => {
  it("of unknown types are kept as they came", async () => {
    const status = {
      code: 5,
      message: "m",
      details: [{ typeUrl: "node.example/other.Thing", value: Uint8Array.of(255) }],
    };
    grpcServer.answer = { ending: failureTrailers(status) };
    // Of a type URL, Connect keeps the type's name.
    expect((await failure(list(connect("grpc")))).details).toEqual([
      { "@type": "type.googleapis.com/other.Thing", value: "/w==" },
    ]);
    await client?.close();

    const details = [
      { "@type": "node.example/other.Thing", value: [1] },
      { "@type": "", a: 1 },
    ];
    restServer.answer = whole("404 Not Found", JSON.stringify({ code: 5, message: "m", details }), JSON_TYPE);
    expect((await failure(list(connect("rest")))).details).toEqual(details);
  });

  it("that do not fit their type are kept as they came", async () => {
    const typeUrl = "type.googleapis.com/vega.ErrorDetail";
    grpcServer.answer = {
      ending: failureTrailers({ code: 5, message: "m", details: [{ typeUrl, value: Uint8Array.of(0x12, 0x7f) }] }),
    };
    expect((await failure(list(connect("grpc")))).details).toEqual([{ "@type": typeUrl, value: "En8=" }]);
    await client?.close();

    const details = [{ "@type": typeUrl, code: "many" }];
    restServer.answer = whole("404 Not Found", JSON.stringify({ code: 5, message: "m", details }), JSON_TYPE);
    expect((await failure(list(connect("rest")))).details).toEqual(details);
  });
});
