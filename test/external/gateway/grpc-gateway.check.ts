import { readFileSync } from "node:fs";
import {
  clone,
  create,
  createFileRegistry,
  type DescMethod,
  fromBinary,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  setExtension,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { type HttpRule, HttpRuleSchema } from "../../../gen/google/api/http_pb.js";
import { httpBindings } from "../../../src/wire/http-rule/http-rule.js";
import { type ClosableTransport, createGrpcTransport, createRestTransport } from "../../../src/wire/transport/index.js";
import { anyRequest, anyText } from "../../support/any-message.js";
import { isServerStreaming, isUnary, serviceOf, streamingMethod, unaryMethod } from "../../support/definitions.js";
import { isJsonObject } from "../../support/json-object.js";

const RUNS = 30;
const PACKAGE = "grpc.gateway.examples.internal.proto.examplepb";
const { GATEWAY_IMAGE: image = "", GATEWAY_GRPC: grpcUrl = "", GATEWAY_REST: restUrl = "" } = process.env;

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
const grpc = createGrpcTransport({ url: grpcUrl, registry });
const rest = createRestTransport({ url: restUrl, registry });
afterAll(() => Promise.all([grpc.close(), rest.close()]));

const everything = serviceOf(registry, `${PACKAGE}.ABitOfEverythingService`);
const streams = serviceOf(registry, `${PACKAGE}.StreamService`);

/** What cannot be the same over the gateway, or ends its server. */
const UNLIKE: Readonly<Record<string, string>> = {
  "ABitOfEverythingService/Timeout": "it answers when the time is up",
  "ABitOfEverythingService/GetRepeatedQuery":
    "a list in a path, which google.api.http does not have: refused, see below",
  "ABitOfEverythingService/Exists": "an error to HEAD has no body, so only the HTTP status tells: see below",
  "ABitOfEverythingService/CreateNestedBodyOneof":
    "its body is a field of a field, which google.api.http does not have",
  "EchoService/EchoPatch": "the gateway makes the update mask of a PATCH from the body",
  "NonStandardService/Update": "its server ends where a mask has an unknown path",
  "NonStandardService/UpdateWithJSONNames": "its server ends where a mask has an unknown path",
  "StreamService/List": "its order is random: see below",
  "StreamService/Download": "the gateway puts a newline behind each piece of a body: see below",
  "camelCaseServiceName/Empty": "the server does not serve it",
  "SnakeEnumService/SnakeEnum": "the server does not serve it",
};

/** A gateway of the usual settings takes a slash in a variable of one segment for the end of the segment. */
const pathText = fc.string({ unit: "grapheme-ascii", maxLength: 8 }).map((text) => text.replaceAll("/", "_"));

/** The methods, each with one of its bindings alone. */
const calls = [...registry]
  .filter((type) => type.kind === "service")
  .flatMap((service) => service.methods)
  .filter((method) => (isUnary(method) || isServerStreaming(method)) && httpBindings(method).length > 0)
  .filter((method) => !Object.hasOwn(UNLIKE, `${method.parent.name}/${method.name}`))
  .flatMap((method) => {
    const rule = getOption(method, http);
    return [rule, ...rule.additionalBindings].map((one) => onlyBinding(method, one));
  })
  .flatMap((method) => httpBindings(method).map((rule) => ({ method, rule })))
  .map(
    (call) =>
      [`${call.method.parent.name}/${call.method.name}, ${call.rule.verb} ${call.rule.template.text}`, call] as const,
  );

function onlyBinding(method: DescMethod, rule: HttpRule): DescMethod {
  const single = clone(HttpRuleSchema, rule);
  single.additionalBindings = [];
  const options = create(MethodOptionsSchema);
  setExtension(options, http, single);
  return { ...method, proto: { ...method.proto, options } };
}

interface Outcome {
  readonly messages: JsonValue[];
  readonly error?: { readonly code: Code; readonly message: string; readonly details: string[] };
}

async function outcome(transport: ClosableTransport, method: DescMethod, json: JsonValue): Promise<Outcome> {
  const messages: JsonValue[] = [];
  const request = fromJson(method.input, json, { registry });
  try {
    if (isUnary(method)) {
      const { message } = await transport.unary(method, undefined, undefined, undefined, request);
      messages.push(comparable(toJson(method.output, message, { registry })));
    } else if (isServerStreaming(method)) {
      const input = createAsyncIterable([request]);
      const response = await transport.stream(method, undefined, undefined, undefined, input);
      for await (const message of response.message) {
        messages.push(comparable(toJson(method.output, message, { registry })));
      }
    }
    return { messages };
  } catch (reason) {
    const { code, rawMessage: message, details } = ConnectError.from(reason);
    return { messages, error: { code, message, details: details.map((one) => ("type" in one ? one.type : "")) } };
  }
}

/** An answer without what two calls do not share, identifier and order, and what a query cannot hold, empty messages. */
function comparable(json: JsonValue): JsonValue {
  if (!isJsonObject(json)) {
    return Array.isArray(json) ? json.map(comparable) : json;
  }
  const entries = Object.entries(json)
    .map(([name, value]) => [name, name === "uuid" ? "" : comparable(value)] as const)
    .filter(([, value]) => !isJsonObject(value) || Object.keys(value).length > 0);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe.each(calls)("%s", (_, { method, rule }) => {
  it("answers through the gateway as over gRPC", async () => {
    let answered = 0;
    // The server sends the identifier back as a header.
    const text = method.name === "Lookup" ? pathText : anyText;
    const requests = anyRequest(method.input, rule, { depth: 2, unknownEnums: false, text, pathText });
    await fc.assert(
      fc.asyncProperty(requests, async (json: JsonObject) => {
        const [through, direct] = [await outcome(rest, method, json), await outcome(grpc, method, json)];
        expect(through).toEqual(direct);
        answered += 1;
      }),
      { numRuns: RUNS },
    );
    expect(answered).toBe(RUNS);
  });
});

describe("what the server keeps", () => {
  const [create, lookup] = [unaryMethod(everything, "CreateBody"), unaryMethod(everything, "Lookup")];
  const stored = {
    floatValue: 3.4028234663852886e38,
    doubleValue: 5e-324,
    int64Value: "-9223372036854775808",
    uint64Value: "18446744073709551615",
    bytesValue: "+/8=",
    timestampValue: "2024-02-29T12:00:00.000000001Z",
    mappedStringValue: { "": "", "a/b": "é🦊" },
    oneofEmpty: {},
    optionalStringValue: "",
    repeatedEnumValue: ["ZERO", "ONE"],
  };

  async function keep(transport: ClosableTransport): Promise<string> {
    const message = fromJson(create.input, stored, { registry });
    const json = toJson(
      create.output,
      (await transport.unary(create, undefined, undefined, undefined, message)).message,
    );
    return isJsonObject(json) ? String(json["uuid"]) : "";
  }

  it("is the same when it was sent through the gateway, and is read through it", async () => {
    for (const [writer, reader] of [
      [rest, grpc],
      [grpc, rest],
    ] as const) {
      const uuid = await keep(writer);
      const { message } = await reader.unary(lookup, undefined, undefined, undefined, fromJson(lookup.input, { uuid }));
      expect(toJson(lookup.output, message, { registry })).toEqual({ uuid, ...stored });
    }
  });

  it("is streamed in the same messages, and with the same error behind them", async () => {
    await keep(rest);
    const list = streamingMethod(streams, "List");
    for (const error of [false, true]) {
      const [through, direct] = [await outcome(rest, list, { error }), await outcome(grpc, list, { error })];
      const sorted = (messages: JsonValue[]) => messages.map((message) => JSON.stringify(message)).sort();
      expect(through.messages.length).toBeGreaterThan(0);
      expect(sorted(through.messages)).toEqual(sorted(direct.messages));
      expect(through.error).toEqual(direct.error);
      expect(through.error?.code).toBe(error ? Code.InvalidArgument : undefined);
    }
  });

  it("is found by HEAD, which has no body, and an error no code but that of its status", async () => {
    const exists = unaryMethod(everything, "Exists");
    expect(await outcome(rest, exists, { uuid: await keep(rest) })).toEqual({ messages: [{}] });
    expect(await outcome(rest, exists, { uuid: "none" })).toMatchObject({ error: { code: Code.Unimplemented } });
    expect(await outcome(grpc, exists, { uuid: "none" })).toMatchObject({ error: { code: Code.NotFound } });
  });
});

it("gives a body's pieces, each with the newline that the gateway puts behind it", async () => {
  const download = streamingMethod(streams, "Download");
  const bytes = ({ messages }: Outcome) =>
    messages.map((json) => Buffer.from(isJsonObject(json) ? String(json["data"]) : "", "base64").toString()).join("");
  expect(bytes(await outcome(grpc, download, {}))).toBe("Hello 1Hello 2");
  expect(bytes(await outcome(rest, download, {}))).toBe("Hello 1\nHello 2\n");
});

it("gives the details of an error", async () => {
  const failing = unaryMethod(everything, "ErrorWithDetails");
  const [through, direct] = [await outcome(rest, failing, {}), await outcome(grpc, failing, {})];
  expect(through).toEqual(direct);
  expect(through.error).toMatchObject({ code: Code.Unknown, details: ["google.rpc.DebugInfo"] });
});

it("refuses, and does not send, what google.api.http has no place for", async () => {
  const repeated = unaryMethod(everything, "GetRepeatedQuery");
  const { error } = await outcome(rest, repeated, { pathRepeatedFloatValue: [1, 2] });
  expect(error?.code).toBe(Code.InvalidArgument);
  expect(error?.message).toMatch(
    /^path_repeated_float_value of .* cannot be part of a path: it is not a scalar field$/,
  );
  const params = unaryMethod(everything, "CheckGetQueryParams");
  const map = await outcome(rest, params, { singleNested: { name: "a" }, mappedStringValue: { a: "b" } });
  expect(map.error?.message).toBe("mappedStringValue is a map, which a query string cannot contain");
});

it("is told of a path that holds a slash in one segment, and not given another answer", async () => {
  const params = unaryMethod(everything, "CheckGetQueryParams");
  const json = { singleNested: { name: "a/b" } };
  expect(await outcome(grpc, params, json)).toEqual({ messages: [json] });
  expect(await outcome(rest, params, json)).toMatchObject({ messages: [], error: { code: Code.NotFound } });
});
