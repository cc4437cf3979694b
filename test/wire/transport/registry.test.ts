import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescMethodUnary,
  fromJson,
  setExtension,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_any, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { expect, it } from "@jest/globals";
import { createClient, ProtocolError } from "tradewire";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";

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
