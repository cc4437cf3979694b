import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  equals,
  type FileRegistry,
  fromBinary,
  fromJson,
  isMessage,
  type JsonObject,
  type MessageInitShape,
  type Registry,
  setExtension,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createClient, messageToJson, NodeError, ProtocolError, records, type TransportOptions } from "tradewire";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";
import { run } from "../../support/command.js";
import { compile, serviceOf, streamingMethod, unaryMethod } from "../../support/definitions.js";

const own = createFileRegistry(
  fromJson(FileDescriptorProtoSchema, {
    name: "own.proto",
    package: "own",
    syntax: "proto3",
    dependency: ["google/protobuf/any.proto"],
    messageType: [
      {
        name: "Note",
        field: [
          { name: "text", jsonName: "text", number: 1, type: "TYPE_STRING" },
          { name: "size", jsonName: "size", number: 2, type: "TYPE_INT64" },
        ],
      },
      {
        name: "Box",
        field: [
          {
            name: "content",
            jsonName: "content",
            number: 1,
            type: "TYPE_MESSAGE",
            typeName: ".google.protobuf.Any",
          },
        ],
      },
    ],
    service: [{ name: "Boxes", method: [{ name: "Echo", inputType: ".own.Box", outputType: ".own.Box" }] }],
  }),
  (name) => (name === "google/protobuf/any.proto" ? file_google_protobuf_any.proto : undefined),
);

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function echo(): DescMethodUnary {
  const method = own.getService("own.Boxes")?.methods[0];
  if (method === undefined || !isUnary(method)) {
    throw new Error("the definitions hold no method");
  }
  const options = create(MethodOptionsSchema);
  setExtension(options, http, create(HttpRuleSchema, { pattern: { case: "post", value: "/boxes" }, body: "*" }));
  method.proto.options = options;
  return method;
}

const NOTE = "type.googleapis.com/own.Note";
const CONTENT = { content: { "@type": NOTE, text: "hello" } };

it.each(["rest", "grpc"] as const)(
  "a type of one's own in an Any is written and read with a registry (%s)",
  async (transport) => {
    const method = echo();
    const bodies: string[] = [];
    const rest = createServer(async (request, response) => {
      const body = await text(request);
      bodies.push(body);
      response.setHeader("content-type", "application/json").end(body);
    });
    const grpc = createHttp2Server(
      connectNodeAdapter({ jsonOptions: { registry: own }, routes: (router) => router.rpc(method, (box) => box) }),
    );
    const server = transport === "rest" ? rest : grpc;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = transport === "rest" ? { rest: { url } } : { grpc: { url, codec: "json" as const } };
    const box = fromJson(method.input, CONTENT, { registry: own });
    try {
      const call = async (options: Parameters<typeof createClient>[1]) => {
        await using client = createClient(config, options);
        return (await client.transport.unary(method, undefined, undefined, undefined, box)).message;
      };
      const answer = await call({ registry: own });
      expect(toJson(method.output, answer, { registry: own })).toEqual(CONTENT);
      if (transport === "rest") {
        expect(bodies.map((body) => JSON.parse(body))).toEqual([CONTENT]);
      }
      await expect(call({})).rejects.toThrow();
    } finally {
      server.close();
    }
  },
);

it("an Any of a type that is not registered is an error that names the type", async () => {
  const body = JSON.stringify(CONTENT);
  const server = createServer((_, response) => response.setHeader("content-type", "application/json").end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await using client = createClient({ rest: { url } });
    await expect(client.transport.unary(echo(), undefined, undefined, undefined, {})).rejects.toMatchObject({
      cause: {
        summary: "the response has an Any of the type own.Note, which is not registered",
        advice: "Set registry to definitions of the types that an Any may contain.",
        errorCode: "TW_INVALID_RESPONSE",
      },
    });
  } finally {
    server.close();
  }
});

it("a JSON number beyond 2^53 is an error in an Any too", async () => {
  const any = "type.googleapis.com/google.protobuf.Any";
  const int64 = "type.googleapis.com/google.protobuf.Int64Value";
  let body = "";
  const server = createServer((_, response) => response.setHeader("content-type", "application/json").end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await using client = createClient({ rest: { url } }, { registry: own });
    const call = (content: string) => {
      body = `{"content":${content}}`;
      return client.transport.unary(echo(), undefined, undefined, undefined, {});
    };
    for (const content of [
      `{"@type":"${NOTE}","size":9007199254740993}`,
      `{"@type":"${any}","value":{"@type":"${NOTE}","size":9007199254740993}}`,
      `{"@type":"${int64}","value":9007199254740993}`,
    ]) {
      await expect(call(content)).rejects.toMatchObject({
        cause: expect.any(ProtocolError),
        rawMessage: expect.stringMatching(/^(size|value|content) is a JSON number beyond 2\^53/),
      });
    }
    const { message } = await call(`{"@type":"${NOTE}","size":"9007199254740993"}`);
    expect(toJson(echo().output, message, { registry: own })).toEqual({
      content: { "@type": NOTE, size: "9007199254740993" },
    });
  } finally {
    server.close();
  }
});

describe("the JSON of results and of the details of errors", () => {
  const NOTES = `
syntax = "proto3";
package notes.v1;
import "google/api/annotations.proto";
import "google/api/httpbody.proto";
import "google/protobuf/any.proto";

service NoteService {
  rpc GetBox(GetBoxRequest) returns (Box) {
    option (google.api.http) = {get: "/v1/box"};
  }
  rpc ListBoxes(ListBoxesRequest) returns (ListBoxesResponse) {
    option (google.api.http) = {get: "/v1/boxes"};
  }
  rpc WatchBoxes(GetBoxRequest) returns (stream Box) {
    option (google.api.http) = {get: "/v1/boxes:watch"};
  }
  rpc GetPicture(GetBoxRequest) returns (google.api.HttpBody) {
    option (google.api.http) = {get: "/v1/picture"};
  }
  rpc Fail(GetBoxRequest) returns (Box) {
    option (google.api.http) = {get: "/v1/fail"};
  }
}
enum State {
  STATE_UNSPECIFIED = 0;
  STATE_NEW = 1;
}
message Note {
  string text = 1;
  State state = 2;
  int64 size = 3;
  google.protobuf.Any inner = 4;
}
message Secret {
  string text = 1;
}
message Box {
  int64 size = 1;
  bytes mark = 5;
  google.protobuf.Any content = 4;
  repeated google.protobuf.Any others = 3;
  map<string, google.protobuf.Any> by_name = 2;
}
message GetBoxRequest {}
message ListBoxesRequest {
  int32 page_size = 1;
  string page_token = 2;
}
message ListBoxesResponse {
  repeated Box boxes = 1;
  string next_page_token = 2;
}
`;
  const ANY_NOTE = "type.googleapis.com/notes.v1.Note";
  const ANY_SECRET = "type.googleapis.com/notes.v1.Secret";
  const note = (text: string): JsonObject => ({ "@type": ANY_NOTE, text, state: "STATE_NEW", size: "5" });
  const size = "9007199254740993";
  const box = { size, mark: "AP8=", content: note("a"), others: [note("b"), note("c")], byName: { x: note("d") } };
  /** The bytes of a secret that says "x". */
  const bytes = "CgF4";

  let all: FileRegistry;
  let registry: Registry;
  let service: DescService;
  let urls: Record<"grpc" | "rest", string>;
  let image: string;
  const servers: (Http2Server | Server)[] = [];
  /** What the server says, in JSON. */
  let answer: JsonObject;
  beforeEach(() => {
    answer = box;
  });

  beforeAll(async () => {
    all = await compile({ "notes.proto": NOTES });
    service = serviceOf(all, "notes.v1.NoteService");
    const typed = (name: string) => all.getMessage(`notes.v1.${name}`) ?? AnySchema;
    registry = createRegistry(typed("Note"));
    image = join(await mkdtemp(join(tmpdir(), "registry-")), "image.binpb");
    const file = [...all.files].map(({ proto }) => proto);
    await writeFile(image, toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));

    const page = () => ({ boxes: [answer], nextPageToken: "" });
    const picture = { contentType: "image/png", data: "AP8=" };
    const written = <O extends DescMessage>(desc: O, json: JsonObject) => fromJson(desc, json, { registry: all });
    const grpc = createHttp2Server(
      connectNodeAdapter({
        jsonOptions: { registry: all },
        routes({ rpc }) {
          const [getBox, listBoxes, getPicture, fail] = ["GetBox", "ListBoxes", "GetPicture", "Fail"].map((name) =>
            unaryMethod(service, name),
          );
          const watch = streamingMethod(service, "WatchBoxes");
          getBox && rpc(getBox, () => written(getBox.output, answer));
          listBoxes && rpc(listBoxes, () => written(listBoxes.output, page()));
          getPicture && rpc(getPicture, () => written(getPicture.output, picture));
          rpc(watch, async function* () {
            yield written(watch.output, answer);
          });
          fail &&
            rpc(fail, () => {
              const value = written(typed("Note"), { text: "a", state: "STATE_NEW", size: "5" });
              const secret = written(typed("Secret"), { text: "x" });
              throw new ConnectError("m", Code.FailedPrecondition, undefined, [
                { desc: typed("Note"), value },
                { desc: typed("Secret"), value: secret },
              ]);
            });
        },
      }),
    );
    const rest = createServer((request, response) => {
      const details = [
        { ...note("a"), size: 5, later: 1 },
        { "@type": ANY_SECRET, text: "x" },
      ];
      const answers: Record<string, [number, JsonObject]> = {
        "/v1/box": [200, answer],
        "/v1/boxes": [200, page()],
        "/v1/boxes:watch": [200, { result: answer }],
        "/v1/fail": [400, { code: 9, message: "m", details }],
      };
      if (request.url?.startsWith("/v1/picture") === true) {
        response.writeHead(200, { "content-type": "image/png" }).end(Uint8Array.of(0, 255));
        return;
      }
      const [status, json] = answers[request.url?.split("?")[0] ?? ""] ?? [404, {}];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
    });
    const listen = async (server: Http2Server | Server) => {
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    urls = { grpc: await listen(grpc), rest: await listen(rest) };
  });
  afterAll(async () => {
    for (const server of servers) {
      server.close();
    }
    await rm(dirname(image), { recursive: true });
  });

  const ways = ["grpc", "grpc-js", "grpc with JSON", "rest"] as const;
  function connect(way: (typeof ways)[number], options: TransportOptions = { registry }) {
    const { grpc: url } = urls;
    const codec = way === "grpc with JSON" ? "json" : "proto";
    return way === "rest"
      ? createClient({ rest: { url: urls.rest } }, options)
      : createClient({ transport: way === "grpc-js" ? "grpc-js" : "grpc", grpc: { url, codec } }, options);
  }

  it.each(ways)("has the fields of registered types (%s)", async (way) => {
    await using client = connect(way);
    const listBoxes = unaryMethod(service, "ListBoxes");
    const boxes = Object(client.service(service));
    const first = async (values: AsyncIterable<unknown>) => {
      for await (const value of values) {
        return JSON.parse(JSON.stringify(value));
      }
    };
    expect(await first(client.records(listBoxes))).toEqual({ cursor: "", node: box });
    expect(await first(client.pages(listBoxes))).toEqual({ boxes: [box], nextPageToken: "" });
    expect(await first(records(client.transport, listBoxes))).toEqual({ cursor: "", node: box });
    expect(await first(boxes.watchBoxes({}))).toEqual(box);
    expect(JSON.parse(JSON.stringify({ got: await boxes.getBox({}) }))).toEqual({ got: box });
    const picture = await boxes.getPicture({});
    expect(JSON.parse(JSON.stringify(picture))).toEqual({ contentType: "image/png", data: "AP8=", extensions: [] });
    const reason = await boxes.fail({}).catch((error: unknown) => error);
    expect(reason).toBeInstanceOf(NodeError);
    const secret = way === "rest" ? { text: "x" } : { value: bytes };
    expect(reason.details).toEqual([note("a"), { "@type": ANY_SECRET, ...secret }]);
  });

  it.each(["grpc", "grpc-js"] as const)("has the bytes of other types (%s)", async (way) => {
    const secret = { "@type": ANY_SECRET, text: "x" };
    const inner = { ...note("a"), inner: secret };
    answer = { ...box, content: inner, others: [note("b"), secret, {}, inner], byName: { 7: secret, 3: note("c") } };
    const unread = { "@type": ANY_SECRET, value: bytes };
    const read = { ...note("a"), inner: unread };
    const expected = {
      ...{ ...box, content: read },
      ...{ others: [note("b"), unread, {}, read], byName: { 7: unread, 3: note("c") } },
    };
    await using client = connect(way);
    const listBoxes = unaryMethod(service, "ListBoxes");
    for await (const record of client.records(listBoxes)) {
      expect(JSON.parse(JSON.stringify(record))).toEqual({ cursor: "", node: expected });
      expect(messageToJson(connectionNode(listBoxes), record.node, registry)).toEqual(expected);
      expect(messageToJson(connectionNode(listBoxes), record.node)).toMatchObject({
        others: [{ "@type": ANY_NOTE, value: expect.any(String) }, unread, {}, { value: expect.any(String) }],
      });
    }
    await using untold = connect(way, {});
    const found = JSON.parse(JSON.stringify(await Object(untold.service(service)).getBox({})));
    expect(found.content).toEqual({ "@type": ANY_NOTE, value: expect.any(String) });
  });

  const connectionNode = (method: DescMethodUnary): DescMessage => method.output.field["boxes"]?.message ?? AnySchema;

  it("has content that does not fit its type as bytes", async () => {
    const [getBox, any] = [unaryMethod(service, "GetBox"), { typeUrl: ANY_NOTE, value: Uint8Array.of(0x0a, 0x7f) }];
    const broken = create(getBox.output, { content: create(AnySchema, any) } as MessageInitShape<typeof getBox.output>);
    expect(messageToJson(getBox.output, broken, registry)).toMatchObject({
      content: { "@type": ANY_NOTE, value: "Cn8=" },
    });
  });

  it.each(["grpc", "rest"])("is printed by the command with --proto (%s)", async (way) => {
    const call = (name: string, ...more: string[]) =>
      run([
        "call",
        name,
        "--proto",
        image,
        "--transport",
        way,
        "--grpc-url",
        urls.grpc,
        "--rest-url",
        urls.rest,
        ...more,
      ]);
    expect(JSON.parse((await call("GetBox")).out)).toEqual(box);
    const detail = '"text":"a","state":"STATE_NEW","size":"5"';
    expect((await call("Fail")).err.replace(/\s/g, "")).toContain(detail);
    expect((await call("Fail", "--json")).out.replace(/\s/g, "")).toContain(detail);
  });

  it("is no part of what a message is", async () => {
    await using client = connect("grpc");
    const { output } = unaryMethod(service, "GetBox");
    const message = await Object(client.service(service)).getBox({});
    expect(isMessage(message, output)).toBe(true);
    expect(equals(output, message, fromBinary(output, toBinary(output, message)))).toBe(true);
    expect(Object.keys({ ...message })).not.toContain("toJSON");
    expect(structuredClone(message)).toEqual(message);
  });
});
