import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clone, create, type DescFile, fromJson, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import {
  ServerReflection,
  type ServerReflectionResponseSchema,
} from "tradewire/gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "tradewire/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { run } from "../support/command.js";
import { compile, serviceOf, unaryMethod } from "../support/definitions.js";
import { serveNodeOf, serveTcp, type TestNode } from "../support/node.js";

const LIBRARY = "library.v1.LibraryService";

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;
interface Question {
  readonly case: string | undefined;
  readonly value?: unknown;
}

let library: ReturnType<typeof serviceOf>;
let definitions: FileDescriptorSet;
let nodes: TestNode[] = [];
/** What the servers of a test were asked. */
let asked: string[] = [];

beforeAll(async () => {
  const text = readFileSync(new URL("../support/library.proto", import.meta.url), "utf8");
  const registry = await compile({ "library.proto": text });
  library = serviceOf(registry, LIBRARY);
  definitions = create(FileDescriptorSetSchema, { file: [...registry.files].map(({ proto }) => proto) });
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  nodes = [];
  asked = [];
});

/** Serves the library, and reflection that answers as a test wants. */
async function serve(answer: ((question: Question) => Response | undefined) | undefined, version = ServerReflection) {
  const routes = (router: ConnectRouter) => {
    const getBook = unaryMethod(library, "GetBook");
    router.rpc(getBook, () => fromJson(getBook.output, { title: "Emma" }));
    if (answer === undefined) {
      return;
    }
    router.service(version, {
      async *serverReflectionInfo(requests) {
        for await (const { messageRequest } of requests) {
          asked.push(`${messageRequest.case} ${messageRequest.value}`);
          const messageResponse = answer(messageRequest);
          if (messageResponse === undefined) {
            return;
          }
          yield { messageResponse };
        }
      },
    });
  };
  const node = await serveNodeOf(routes, [library]);
  nodes.push(node);
  return node;
}

const listed = (...names: string[]): Response => ({
  case: "listServicesResponse",
  value: { service: names.map((name) => ({ name })) },
});
const filesOf = (...files: readonly (FileDescriptorProto | Uint8Array)[]): Response => ({
  case: "fileDescriptorResponse",
  value: {
    fileDescriptorProto: files.map((file) =>
      file instanceof Uint8Array ? file : toBinary(FileDescriptorProtoSchema, file),
    ),
  },
});
const notFound: Response = {
  case: "errorResponse",
  value: { errorCode: Code.NotFound, errorMessage: "unknown" },
};

/** Answers as a server does that gives each file alone, and lists the services. */
function honest(services: readonly string[] = [LIBRARY, "grpc.reflection.v1.ServerReflection"]) {
  const files = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    files.set(file.proto.name, file);
    file.dependencies.forEach(add);
  };
  add(library.file);
  return ({ case: kind, value }: Question): Response => {
    const file = kind === "fileByFilename" ? files.get(String(value)) : library.file;
    return kind === "listServices" ? listed(...services) : file === undefined ? notFound : filesOf(file.proto);
  };
}

const over = (node: TestNode, transport: string) => [
  ...["--transport", transport],
  ...["--grpc-url", node.grpcUrl, "--rest-url", node.restUrl],
];

describe("a method of one's own definitions", () => {
  let folder: string;
  let call: string[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewire-proto-"));
    const image = join(folder, "image.binpb");
    await writeFile(image, toBinary(FileDescriptorSetSchema, definitions));
    call = ["call", "GetBook", "--set", "isbn=1", "--proto", image, "--transport", "rest"];
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("fails without words about nodes if its server cannot be reached", async () => {
    const environment = { TRADEWIRE_REST_URL: "http://127.0.0.1:1" };
    const { code, err } = await run(call, { environment });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /environment variable TRADEWIRE_REST_URL\. To use another server, set --grpc-url or --rest-url\.\n$/,
      ),
    ]);
  });

  it("fails without words about nodes if its server does not respond in time", async () => {
    await using silent = await serveTcp(() => undefined);
    expect(await run([...call, "--rest-url", silent.url, "--timeout", "200ms"])).toEqual({
      code: 1,
      out: "",
      err: "tradewire: the command did not end within 200 ms\nUse a longer --timeout, or check the server.\n",
    });
  });

  it("is not read from a file of them alone", async () => {
    const proto = join(folder, "library.proto");
    await writeFile(proto, 'syntax = "proto3";');
    expect(await run(["methods", "--proto", proto])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/\nGive the folder from which its imports are found\.\n$/),
    });
  });
});

describe("a method that the network does not have", () => {
  it.each(["grpc", "grpc-js", "auto", "rest,grpc"])(
    "is called by the server's own definitions, over %s",
    async (transport) => {
      const node = await serve(honest());
      const { code, out, err } = await run(["call", "GetBook", '{"isbn": "1"}', "--json", ...over(node, transport)]);
      expect([code, err]).toEqual([0, ""]);
      expect(JSON.parse(out)).toMatchObject({ title: "Emma" });
      // Each file is asked for once.
      expect(new Set(asked).size).toBe(asked.length);
    },
  );

  it("is called of a server that has the older version of reflection alone", async () => {
    const answer = honest();
    const node = await serveNodeOf((router) => {
      const getBook = unaryMethod(library, "GetBook");
      router.rpc(getBook, () => fromJson(getBook.output, { title: "Emma" }));
      router.service(ServerReflectionAlpha, {
        async *serverReflectionInfo(requests) {
          for await (const { messageRequest } of requests) {
            const { case: kind, value } = answer(messageRequest);
            yield kind === "listServicesResponse"
              ? { messageResponse: { case: kind, value: { service: [{ name: LIBRARY }] } } }
              : kind === "fileDescriptorResponse"
                ? { messageResponse: { case: kind, value: { fileDescriptorProto: value.fileDescriptorProto ?? [] } } }
                : {};
          }
        },
      });
    });
    nodes.push(node);
    const { out } = await run(["call", "GetBook", '{"isbn": "1"}', "--json", ...over(node, "grpc")]);
    expect(JSON.parse(out)).toMatchObject({ title: "Emma" });
  });

  it("is described, and listed with --reflection behind the network's", async () => {
    const node = await serve(honest());
    const described = await run(["describe", "LibraryService/GetBook", "--json", ...over(node, "grpc")]);
    expect(JSON.parse(described.out)).toMatchObject({
      name: `${LIBRARY}/GetBook`,
      http: expect.arrayContaining([expect.any(String)]),
    });
    const message = await run(["describe", "library.v1.Book", "--json", ...over(node, "grpc")]);
    expect(JSON.parse(message.out)).toMatchObject({ kind: "message", name: "library.v1.Book" });
    const { methods } = JSON.parse((await run(["methods", "--reflection", "--json", ...over(node, "grpc")])).out);
    expect(methods).toHaveLength(150 + library.methods.length);
    expect(methods[0].name).toMatch(/^datanode\.api\.v2\./);
    expect(methods.at(-1).name).toMatch(new RegExp(`^${LIBRARY}/`));
  });

  it("is not found over REST alone, which has no reflection", async () => {
    const node = await serve(honest());
    const { code, err } = await run(["call", "GetBook", "--transport", "rest", "--rest-url", node.restUrl]);
    expect(code).toBe(2);
    expect(err).toContain('unknown method "GetBook"');
    expect(err).toContain("server reflection needs gRPC");
    expect(asked).toEqual([]);
  });

  it("is not found if no server offers it", async () => {
    const plain = await serve(undefined);
    const { code, err } = await run(["call", "GetBook", ...over(plain, "grpc")]);
    expect([code, err]).toEqual([
      2,
      'tradewire: unknown method "GetBook"\nList all methods with `tradewire methods`; for another API, add --proto.\n',
    ]);
    const other = await serve(honest());
    expect((await run(["call", "GetBok", ...over(other, "grpc")])).err).toContain(`Did you mean ${LIBRARY}/GetBook?`);
    const listing = await run(["methods", "--reflection", ...over(plain, "grpc")]);
    expect([listing.code, listing.err]).toEqual([
      2,
      expect.stringContaining("the node does not offer server reflection"),
    ]);
  });
});

it("the network's methods keep their definitions, whatever a server says of them", async () => {
  const forged = clone(FileDescriptorProtoSchema, library.file.proto);
  forged.package = "vega.api.v1";
  forged.service = forged.service.map((service) => ({ ...service, name: "CoreService" }));
  const answer = honest([CoreService.typeName, LIBRARY]);
  const node = await serve((question) =>
    question.value === CoreService.typeName ? filesOf(forged) : answer(question),
  );
  const { out } = await run(["describe", "SubmitTransaction", "--json", ...over(node, "grpc")]);
  expect(JSON.parse(out)).toMatchObject({ request: "vega.api.v1.SubmitTransactionRequest" });
  expect(asked).toEqual([]);
  const { methods } = JSON.parse((await run(["methods", "--reflection", "--json", ...over(node, "grpc")])).out);
  expect(methods.filter(({ name }: { name: string }) => name.startsWith(CoreService.typeName))).toHaveLength(
    CoreService.methods.length,
  );
  expect(asked).not.toContain(`fileContainingSymbol ${CoreService.typeName}`);
});

describe("definitions that break the rules", () => {
  const file = (name: string, more: MessageInitShape<typeof FileDescriptorProtoSchema> = {}) =>
    create(FileDescriptorProtoSchema, { name, package: "a", syntax: "proto3", ...more });
  const service = { name: "S", method: [{ name: "M", inputType: ".a.In", outputType: ".a.In" }] };
  const message = { name: "In" };
  /** Answers with the service `a.S` in this file, and with others by their names. */
  const of =
    (first: FileDescriptorProto | Uint8Array, others: Record<string, FileDescriptorProto[]> = {}) =>
    ({ case: kind, value }: Question): Response =>
      kind === "listServices"
        ? listed("a.S")
        : kind === "fileContainingSymbol"
          ? filesOf(first)
          : filesOf(...(others[String(value)] ?? []));

  it.each<[string, (question: Question) => Response | undefined, RegExp]>([
    ["bytes that are no file", of(Uint8Array.of(0xff, 0xff)), /a file cannot be decoded/],
    ["a type that no file has", of(file("s.proto", { service: [service] })), /a\.In/],
    [
      "a service that its file lacks",
      of(file("s.proto", { messageType: [message] })),
      /a\.S is listed but not defined in any file/,
    ],
    [
      "a file with two contents",
      of(file("s.proto", { service: [service], dependency: ["b.proto"] }), {
        "b.proto": [file("b.proto", { messageType: [message] }), file("b.proto")],
      }),
      /two different files have the name "b\.proto"/,
    ],
    [
      "files that import each other",
      of(file("s.proto", { service: [service], dependency: ["b.proto"] }), {
        "b.proto": [file("b.proto", { messageType: [message], dependency: ["s.proto"] })],
      }),
      /imports itself/,
    ],
    [
      "a name with control characters",
      of(file("s.proto", { messageType: [{ name: "I\u001b[2Jn" }] })),
      /"I\\u001b\[2Jn" is not a name/,
    ],
    ["a file whose name is none", of(file("s .proto")), /invalid file name in/],
    ["a service whose name is none", () => listed("a..S"), /"a\.\.S" is not a name/],
    [
      "too many services",
      () => listed(...Array.from({ length: 1001 }, (_, i) => `a.S${i}`)),
      /more than 1000 services/,
    ],
    [
      "files without end",
      ({ case: kind, value }) =>
        kind === "listServices"
          ? listed("a.S")
          : filesOf(
              file(`${asked.length}.proto`, {
                dependency: [`x${value}.proto`.slice(0, 90), `${asked.length + 1}.proto`],
              }),
            ),
      /more than 5000 files/,
    ],
    [
      "files that are too large",
      of(file("s.proto", { options: { javaPackage: "a".repeat(17 * 1024 * 1024) } })),
      /exceed 16777216 bytes/,
    ],
    ["another answer", () => ({ case: "allExtensionNumbersResponse", value: {} }), /is not a list of services/],
    ["an end before the answer", () => undefined, /the stream ended before/],
    [
      "a service without a file",
      ({ case: kind }) => (kind === "listServices" ? listed("a.S") : notFound),
      /a\.S is listed but has no file: "unknown"/,
    ],
  ])("are refused: %s", async (_, answer, reason) => {
    const node = await serve(answer);
    const { code, err } = await run(["call", "M", ...over(node, "grpc")]);
    expect(code).toBe(1);
    expect(err).toMatch(/^tradewire: invalid server reflection response: /);
    expect(err).toMatch(reason);
    expect(err).toContain("Provide the definitions with --proto.");
  });
});
