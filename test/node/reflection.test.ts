import { connect } from "node:http2";
import { create, createFileRegistry, fromBinary, getOption } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { ServerReflection } from "tradewire/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "tradewire/gen/grpc/reflection/v1alpha/reflection_pb.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 1, blockMs: 0 });
});
afterAll(() => node.close());

type Question =
  | { case: "listServices" | "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType"; value: string }
  | { case: "fileContainingExtension"; value: { containingType: string; extensionNumber: number } };

/** Put files in an order in which each stands behind what it imports, as a registry needs them. */
function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const placed = new Map<string, FileDescriptorProto>();
  for (const _ of files) {
    const next = files.find(({ name, dependency }) => !placed.has(name) && dependency.every((one) => placed.has(one)));
    if (next === undefined) {
      throw new Error("an import is missing");
    }
    placed.set(next.name, next);
  }
  return [...placed.values()];
}

describe.each([
  ["v1", ServerReflection],
  ["v1alpha", ServerReflectionAlpha],
] as const)("server reflection %s", (_, service) => {
  /** The answers to questions on one stream. */
  async function ask(...questions: Question[]) {
    const transport = createGrpcTransport({ baseUrl: node.grpcUrl });
    const requests = questions.map((messageRequest) => ({ host: "here", messageRequest }));
    const answers = [];
    // Both versions have the same methods and fields.
    const client =
      service === ServerReflection ? createClient(service, transport) : createClient(ServerReflectionAlpha, transport);
    for await (const { validHost, originalRequest, messageResponse } of client.serverReflectionInfo(
      createAsyncIterable(requests),
    )) {
      expect(validHost).toBe("here");
      expect(originalRequest).toMatchObject(requests[answers.length] ?? {});
      answers.push(messageResponse);
    }
    expect(answers).toHaveLength(questions.length);
    return answers;
  }

  async function files(...questions: Question[]): Promise<FileDescriptorProto[][]> {
    return (await ask(...questions)).map((answer) =>
      answer.case === "fileDescriptorResponse"
        ? answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
        : [],
    );
  }

  test("lists the services", async () => {
    const [answer] = await ask({ case: "listServices", value: "*" });
    expect(answer).toMatchObject({
      case: "listServicesResponse",
      value: {
        service: [
          { name: "datanode.api.v2.TradingDataService" },
          { name: "grpc.reflection.v1.ServerReflection" },
          { name: "grpc.reflection.v1alpha.ServerReflection" },
          { name: "vega.api.v1.CoreService" },
          { name: "vega.api.v1.CoreStateService" },
        ],
      },
    });
  });

  test("gives a service's file with all that it imports, HTTP rules included", async () => {
    const [file = []] = await files({ case: "fileContainingSymbol", value: "datanode.api.v2.TradingDataService" });
    expect(file[0]?.name).toBe("datanode/api/v2/trading_data.proto");
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(file) }));
    const service = registry.getService("datanode.api.v2.TradingDataService");
    const method = service?.methods.find(({ name }) => name === "ListTrades");
    expect(service?.methods).toHaveLength(128);
    expect(method === undefined ? undefined : getOption(method, http).pattern).toEqual({
      case: "get",
      value: "/api/v2/trades",
    });
  });

  test.each([
    ["datanode.api.v2.TradingDataService.ListTrades", "datanode/api/v2/trading_data.proto"],
    ["vega.Order", "vega/vega.proto"],
    ["vega.Order.Status", "vega/vega.proto"],
    ["vega.Order.STATUS_ACTIVE", "vega/vega.proto"],
    ["vega.SIDE_BUY", "vega/vega.proto"],
    ["vega.Order.party_id", "vega/vega.proto"],
    ["vega.StopOrder.price", "vega/vega.proto"],
    ["google.api.http", "google/api/annotations.proto"],
    ["grpc.reflection.v1.ServerReflection", "grpc/reflection/v1/reflection.proto"],
  ])("finds the file of %s", async (value, name) => {
    const [file] = await files({ case: "fileContainingSymbol", value });
    expect(file?.[0]?.name).toBe(name);
  });

  test("gives a file by its name, and each file once on a stream", async () => {
    const [first = [], second = [], third = []] = await files(
      { case: "fileByFilename", value: "vega/assets.proto" },
      { case: "fileByFilename", value: "vega/api/v1/corestate.proto" },
      { case: "fileByFilename", value: "vega/assets.proto" },
    );
    expect(first.map(({ name }) => name)).toEqual(["vega/assets.proto"]);
    expect(second[0]?.dependency).toContain("vega/assets.proto");
    const names = second.map(({ name }) => name);
    expect(names).not.toContain("vega/assets.proto");
    expect(names).toContain("google/protobuf/descriptor.proto");
    expect(new Set(names).size).toBe(names.length);
    expect(third).toEqual([]);
  });

  test("knows extensions", async () => {
    const [numbers, file, none] = await ask(
      { case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" },
      {
        case: "fileContainingExtension",
        value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 72_295_728 },
      },
      { case: "allExtensionNumbersOfType", value: "vega.Order" },
    );
    expect(numbers?.value).toMatchObject({
      baseTypeName: "google.protobuf.MethodOptions",
      extensionNumber: [72_295_728],
    });
    expect(file?.case).toBe("fileDescriptorResponse");
    expect(none?.value).toMatchObject({ baseTypeName: "vega.Order", extensionNumber: [] });
  });

  test("says what is not there, and goes on", async () => {
    const value = { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 };
    const answers = await ask(
      { case: "fileContainingSymbol", value: "vega.Nothing" },
      { case: "fileByFilename", value: "nothing.proto" },
      { case: "fileContainingExtension", value },
      { case: "allExtensionNumbersOfType", value: "vega.Nothing" },
      { case: "listServices", value: "" },
    );
    expect(answers.slice(0, 4)).toMatchObject(
      [
        "symbol vega.Nothing not found",
        "file nothing.proto not found",
        "extension 1 of google.protobuf.MethodOptions not found",
        "message vega.Nothing not found",
      ].map((errorMessage) => ({ case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage } })),
    );
    expect(answers[4]?.case).toBe("listServicesResponse");
  });
});

describe("over HTTP/2, a method", () => {
  /** The headers and trailers of a call that sends an empty message. */
  async function call(path: string, contentType: string) {
    const session = connect(node.grpcUrl);
    try {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType, te: "trailers" });
      const parts: Record<string, unknown> = {};
      stream.on("response", (headers) =>
        Object.assign(parts, { status: headers[":status"], type: headers["content-type"] }),
      );
      stream.on("trailers", (trailers) => {
        Object.assign(parts, { code: trailers["grpc-status"], message: trailers["grpc-message"] });
      });
      stream.end(Buffer.alloc(5));
      stream.resume();
      await new Promise((resolve, reject) => stream.on("close", resolve).on("error", reject));
      return parts;
    } finally {
      session.close();
    }
  }

  test.each([
    [
      "that is not implemented",
      "/vega.api.v1.CoreService/PropagateChainEvent",
      /PropagateChainEvent is not implemented/,
    ],
    ["that does not exist", "/datanode.api.v2.TradingDataService/Nope", /^unknown method Nope for service datanode/],
    ["of a service that does not exist", "/a.B/C", /^unknown method C for service a\.B$/],
    ["whose name is odd", "/a.B/%E2%82%AC%20", /^unknown method %E2%82%AC%20 for service a\.B$/],
  ])("%s is answered with 200 and the code in trailers", async (_, path, message) => {
    for (const type of ["application/grpc", "application/grpc+proto"]) {
      const { message: encoded, ...answer } = await call(path, type);
      expect(answer).toEqual({ status: 200, type: expect.stringMatching(/^application\/grpc/), code: "12" });
      expect(decodeURIComponent(String(encoded))).toMatch(message);
    }
  });

  test("that does not exist is not found by who does not speak gRPC", async () => {
    expect(await call("/a.B/C", "application/json")).toMatchObject({ status: 404 });
  });
});
