import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonValue,
  setExtension,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_any, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createTransport, ProtocolError, RequestError, readConfig } from "tradewire";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";
import { file_google_api_httpbody } from "tradewire/gen/google/api/httpbody_pb.js";
import { serveNodeOf } from "../../../support/node.js";

const [ITEM, BODY] = [".rules.Item", ".google.api.HttpBody"];
const field = (name: string, number: number, type: string) =>
  type.startsWith(".")
    ? { name, jsonName: name, number, type: "TYPE_MESSAGE", typeName: type }
    : { name, jsonName: name, number, type };

const definitions = {
  name: "rules.proto",
  package: "rules",
  syntax: "proto3",
  dependency: ["google/api/httpbody.proto"],
  messageType: [
    {
      name: "Item",
      field: [
        field("id", 1, "TYPE_STRING"),
        field("name", 2, "TYPE_STRING"),
        field("size", 3, "TYPE_INT64"),
        { ...field("counts", 4, "TYPE_UINT64"), label: "LABEL_REPEATED" },
        field("file", 5, BODY),
        field("inner", 6, ITEM),
        field("ratio", 7, "TYPE_DOUBLE"),
      ],
    },
  ],
};

/** Each method's input, output, whether its answer streams, and its HTTP rule. */
const methods: Record<string, [input: string, output: string, streams: boolean, rule: JsonValue]> = {
  find: [
    ITEM,
    ITEM,
    false,
    {
      get: "/by-id/{id}",
      additionalBindings: [
        { get: "/by-name/{name}", responseBody: "inner" },
        { post: "/by-inner/{inner.id}", body: "inner" },
      ],
    },
  ],
  watch: [ITEM, ITEM, true, { get: "/watch", responseBody: "inner" }],
  read: [ITEM, BODY, false, { get: "/read" }],
  readFile: [ITEM, ITEM, false, { get: "/read-file", responseBody: "file" }],
  upload: [ITEM, ITEM, false, { post: "/upload/{id}", body: "file" }],
  send: [BODY, ITEM, false, { post: "/send", body: "*" }],
};

function makeService(): DescService {
  const file = fromJson(FileDescriptorProtoSchema, {
    ...definitions,
    service: [
      {
        name: "Rules",
        method: Object.entries(methods).map(([name, [inputType, outputType, serverStreaming]]) => ({
          ...{ name, inputType, outputType, serverStreaming },
        })),
      },
    ],
  });
  for (const method of file.service[0]?.method ?? []) {
    method.options = create(MethodOptionsSchema);
    setExtension(method.options, http, fromJson(HttpRuleSchema, methods[method.name]?.[3] ?? null));
  }
  const known = new Map([
    ["google/api/httpbody.proto", file_google_api_httpbody],
    ["google/protobuf/any.proto", file_google_protobuf_any],
  ]);
  const service = createFileRegistry(file, (name) => known.get(name)).getService("rules.Rules");
  if (service === undefined) {
    throw new Error("the service was not made");
  }
  return service;
}

const service = makeService();
const seen: { line: string; body: string; type: string | undefined; accept: string | undefined }[] = [];
let answer: { readonly type: string; readonly body: string };
const server = createServer(async (request: IncomingMessage, response) => {
  const { "content-type": type, accept } = request.headers;
  seen.push({ line: `${request.method} ${request.url}`, body: (await buffer(request)).toString(), type, accept });
  response.writeHead(200, { "content-type": answer.type }).end(answer.body);
});
let transport: Transport;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  transport = createTransport(readConfig({ rest: { url: `http://127.0.0.1:${port}` } }));
});
afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())));
beforeEach(() => {
  seen.length = 0;
  answer = { type: "application/json", body: "{}" };
});

/** Call a method with a request in JSON; gives its answers in JSON. */
async function call(name: string, request: JsonValue): Promise<JsonValue[]> {
  const method = service.methods.find((one) => one.name === name);
  const answers: JsonValue[] = [];
  if (method !== undefined && isUnary(method)) {
    const message = fromJson(method.input, request);
    const response = await transport.unary(method, undefined, undefined, undefined, message);
    answers.push(toJson(method.output, response.message));
  } else if (method !== undefined && isStreaming(method)) {
    const message = createAsyncIterable([fromJson(method.input, request)]);
    const response = await transport.stream(method, undefined, undefined, undefined, message);
    for await (const item of response.message) {
      answers.push(toJson(method.output, item));
    }
  }
  return answers;
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary";
const isStreaming = (method: DescMethod): method is DescMethodServerStreaming =>
  method.methodKind === "server_streaming";

const causeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (reason: Error) => reason.cause,
  );

describe("a method with several ways to be called", () => {
  it.each([
    ["the first whose path can be filled", { id: "a", name: "b" }, "GET /by-id/a?name=b", ""],
    ["the second", { name: "b", size: "5" }, "GET /by-name/b?size=5", ""],
    ["the third, with its body", { inner: { id: "c", size: "5" } }, "POST /by-inner/c", '{"size":"5"}'],
    ["one whose query can hold the rest", { id: "a" }, "GET /by-id/a", ""],
  ])("is called by %s", async (_, request, line, body) => {
    await call("find", request);
    expect(seen).toMatchObject([{ line, body }]);
  });

  it("reads the answer by the rule that was taken", async () => {
    answer = { type: "application/json", body: '{"id":"x"}' };
    expect(await call("find", { id: "a" })).toEqual([{ id: "x" }]);
    expect(await call("find", { name: "a" })).toEqual([{ inner: { id: "x" } }]);
  });

  it("is not called where none can be filled: the main one tells why", async () => {
    const cause = await causeOf(call("find", {}));
    expect(cause).toBeInstanceOf(RequestError);
    expect(cause).toMatchObject({ summary: expect.stringContaining("/by-id/{id}") });
    expect(seen).toEqual([]);
  });
});

it("reads response_body from each object of a stream", async () => {
  answer = { type: "application/json", body: '{"result":{"id":"1"}}\n{"result":{"id":"2"}}\n' };
  expect(await call("watch", {})).toEqual([{ inner: { id: "1" } }, { inner: { id: "2" } }]);
});

it("reads an HttpBody that does not stream: the body itself, of any content type", async () => {
  for (const type of ["text/csv", "application/json"]) {
    answer = { type, body: '{"data":1}' };
    const file = { contentType: type, data: Buffer.from('{"data":1}').toString("base64") };
    expect(await call("read", {})).toEqual([file]);
    expect(await call("readFile", {})).toEqual([{ file }]);
  }
  expect(seen[0]?.accept).toBe("*/*");
});

it("sends an HttpBody as the body itself", async () => {
  const data = Buffer.from("a,b\n1,2\n").toString("base64");
  await call("upload", { id: "7", name: "n", file: { contentType: "text/csv", data } });
  await call("send", { contentType: "text/csv", data });
  await call("send", { data });
  expect(seen).toMatchObject([
    { line: "POST /upload/7?name=n", body: "a,b\n1,2\n", type: "text/csv" },
    { line: "POST /send", body: "a,b\n1,2\n", type: "text/csv" },
    { line: "POST /send", body: "a,b\n1,2\n", type: "application/octet-stream" },
  ]);
});

describe("a JSON number for an integer of 64 bits", () => {
  it.each([
    ['{"id":"x","size":9007199254740993}'],
    ['{"size":-9007199254740993}'],
    ['{"size":9.1e18}'],
    ['{"counts":["1",9223372036854775807]}'],
    ['{"inner":{"inner":{"size":18014398509481985}}}'],
  ])("is an error beyond 2^53, and not another number: %s", async (body) => {
    answer = { type: "application/json", body };
    const cause = await causeOf(call("find", { id: "a" }));
    expect(cause).toBeInstanceOf(ProtocolError);
    expect(cause).toMatchObject({ summary: expect.stringMatching(/^(size|counts) is a JSON number beyond 2\^53/) });
  });

  it("is read up to 2^53, and as text beyond; a double may be larger", async () => {
    answer = {
      type: "application/json",
      body: '{"size":9007199254740991,"counts":["18446744073709551615"],"ratio":1e300,"id":"9007199254740993 "}',
    };
    expect(await call("find", { id: "a" })).toEqual([
      { size: "9007199254740991", counts: ["18446744073709551615"], ratio: 1e300, id: "9007199254740993 " },
    ]);
  });
});

it("is read back by the gateway of the local node, bytes as they are", async () => {
  const method = (name: string): DescMethodUnary => {
    const found = service.methods.find((each) => each.name === name);
    if (found === undefined || !isUnary(found)) {
      throw new Error(`there is no unary method ${name}`);
    }
    return found;
  };
  const echo = (router: ConnectRouter) => {
    router.rpc(method("upload"), (item) => item);
    router.rpc(method("readFile"), () => fromJson(method("readFile").output, { file }));
    router.rpc(method("send"), (body) => ({ inner: { file: body } }));
  };
  const data = Buffer.from([0x7b, 0xff, 0x00, 0x0a]).toString("base64");
  const file = { contentType: "image/x-raw; a=b", data };
  const node = await serveNodeOf(echo, [service]);
  const own = createTransport(readConfig({ transport: "rest", rest: { url: node.restUrl } }));
  const answerTo = async (name: string, request: JsonValue) => {
    const desc = method(name);
    const { message } = await own.unary(desc, undefined, undefined, undefined, fromJson(desc.input, request));
    return toJson(desc.output, message);
  };
  try {
    expect(await answerTo("upload", { id: "7", name: "n", file })).toEqual({ id: "7", name: "n", file });
    expect(await answerTo("upload", { id: "7" })).toEqual({ id: "7" });
    expect(await answerTo("upload", { id: "7", file: { contentType: "a/b" } })).toEqual({
      id: "7",
      file: { contentType: "a/b" },
    });
    expect(await answerTo("send", file)).toEqual({ inner: { file } });
    expect(await answerTo("readFile", {})).toEqual({ file });
    // JSON is bytes of a type like any other there.
    const json = { contentType: "application/json", data: Buffer.from('{"data":1}').toString("base64") };
    expect(await answerTo("send", json)).toEqual({ inner: { file: json } });
  } finally {
    await own.close();
    await node.close();
  }
});
