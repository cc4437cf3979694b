import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ClosableTransport, createTransport, readConfig } from "tradewire";
import { serveNodeOf, type TestNode } from "../../support/node.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What someone might add to `proto/`. */
const PROTO = `
syntax = "proto3";

package extra.v1;

import "google/api/annotations.proto";
import "google/api/httpbody.proto";
import "google/protobuf/timestamp.proto";

// Books on shelves.
service ShelfService {
  rpc GetBook(GetBookRequest) returns (Book) {
    option (google.api.http) = {get: "/extra/v1/{name=shelves/*/books/*}"};
  }
  rpc AddBook(AddBookRequest) returns (Book) {
    option (google.api.http) = {post: "/extra/v1/{shelf}/books:add" body: "*"};
  }
  rpc WatchBooks(GetBookRequest) returns (stream Book) {
    option (google.api.http) = {get: "/extra/v1/books:watch"};
  }
  rpc DownloadBook(GetBookRequest) returns (stream google.api.HttpBody) {
    option (google.api.http) = {get: "/extra/v1/{name=shelves/*/books/*}:download"};
  }
  rpc GetLabel(GetBookRequest) returns (Book) {
    option (google.api.http) = {get: "/extra/v1/label" response_body: "long_title"};
  }
  rpc GetTime(GetBookRequest) returns (Book) {
    option (google.api.http) = {get: "/extra/v1/time" response_body: "printed_at"};
  }
}

enum Genre {
  GENRE_UNSPECIFIED = 0;
  GENRE_PROSE = 1;
  GENRE_VERSE = 2;
}

message Filter {
  repeated Genre genres = 1;
  optional bool in_print = 2;
  google.protobuf.Timestamp printed_before = 3;
  Filter except = 4;
}

message GetBookRequest {
  string name = 1;
  Filter book_filter = 2;
  repeated int64 page_numbers = 3;
}

message AddBookRequest {
  string shelf = 1;
  Book book = 2;
  map<string, string> labels = 3;
}

message Book {
  string long_title = 1;
  uint64 copies = 2;
  bytes raw_cover = 3;
  Genre genre = 4;
  google.protobuf.Timestamp printed_at = 5;
}
`;

let folder: string;
let service: DescService;
let node: TestNode;
const transports: { name: "grpc" | "rest"; transport: ClosableTransport }[] = [];

beforeAll(async () => {
  const out = join(root, "out"); // Inside the project, where packages are found.
  await mkdir(out, { recursive: true });
  folder = await mkdtemp(join(out, "extra-proto-"));
  await generate();
  const generated: unknown = await import(pathToFileURL(join(folder, "gen/extra/v1/shelf_pb.js")).href);
  service = serviceIn(generated);
  node = await serveNodeOf(routes, [service]);
  const [grpc, rest] = [{ url: node.grpcUrl }, { url: node.restUrl }];
  for (const name of ["grpc", "rest"] as const) {
    transports.push({ name, transport: createTransport(readConfig({ transport: name, grpc, rest })) });
  }
});

afterAll(async () => {
  for (const { transport } of transports) {
    await transport.close();
  }
  await node.close();
  await rm(folder, { recursive: true });
});

/** Copy the definitions, add one, and generate code as `npm run generate` does, but as JavaScript. */
async function generate(): Promise<void> {
  await cp(join(root, "proto"), join(folder, "proto"), { recursive: true });
  await cp(join(root, "buf.yaml"), join(folder, "buf.yaml"));
  await mkdir(join(folder, "proto/extra/v1"), { recursive: true });
  await writeFile(join(folder, "proto/extra/v1/shelf.proto"), PROTO);
  const plugin = { local: "protoc-gen-es", out: "gen", opt: ["target=js", "import_extension=js"] };
  const bin = join(root, "node_modules/.bin");
  await promisify(execFile)(
    join(bin, "buf"),
    ["generate", "--template", JSON.stringify({ version: "v2", plugins: [plugin] })],
    { cwd: folder, env: { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` } },
  );
}

function serviceIn(generated: unknown): DescService {
  const found = Object.values(generated ?? {}).find(isService);
  if (found === undefined) {
    throw new Error("the generated module has no service");
  }
  return found;
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

function unary(name: string): DescMethodUnary {
  const method = service.methods.find((candidate) => candidate.localName === name);
  if (method?.methodKind !== "unary") {
    throw new Error(`${name} is no unary method`);
  }
  return { ...method, methodKind: "unary" };
}

function streaming(name: string): DescMethodServerStreaming {
  const method = service.methods.find((candidate) => candidate.localName === name);
  if (method?.methodKind !== "server_streaming") {
    throw new Error(`${name} does not stream`);
  }
  return { ...method, methodKind: "server_streaming" };
}

/** The server's side: each book's title is the request as it arrived, in JSON. */
function routes(router: ConnectRouter): void {
  const titled = (input: DescMessage, request: MessageShape<DescMessage>, more: JsonObject = {}): JsonObject => ({
    longTitle: JSON.stringify(toJson(input, request)),
    ...more,
  });
  for (const name of ["getBook", "addBook", "getLabel", "getTime"]) {
    const method = unary(name);
    router.rpc(method, (request: MessageShape<DescMessage>) => {
      const json = titled(method.input, request, { copies: "18446744073709551615", rawCover: "AP8=", genre: 2 });
      if (json["longTitle"] === "{}" && name === "getBook") {
        throw new ConnectError("no name", Code.InvalidArgument);
      }
      return fromJson(method.output, json);
    });
  }
  const watch = streaming("watchBooks");
  router.rpc(watch, async function* (request: MessageShape<DescMessage>) {
    yield fromJson(watch.output, titled(watch.input, request));
    yield fromJson(watch.output, { longTitle: 'a "}{" \n é', printedAt: "2024-02-29T00:00:00.5Z" });
    yield fromJson(watch.output, {});
    throw new ConnectError("no more books", Code.OutOfRange);
  });
  const download = streaming("downloadBook");
  router.rpc(download, async function* (request: MessageShape<DescMessage>) {
    const text = JSON.stringify(toJson(download.input, request));
    yield fromJson(download.output, { contentType: "text/plain", data: Buffer.from(text).toString("base64") });
    yield fromJson(download.output, { contentType: "text/plain", data: "AAEC/w==" });
  });
}

async function call(transport: ClosableTransport, name: string, json: JsonObject): Promise<JsonValue> {
  const method = unary(name);
  const input = fromJson(method.input, json);
  const { message } = await transport.unary(method, undefined, undefined, undefined, input);
  return toJson(method.output, message);
}

async function open(transport: ClosableTransport, name: string, json: JsonObject) {
  const method = streaming(name);
  const input = createAsyncIterable([fromJson(method.input, json)]);
  const { message } = await transport.stream(method, undefined, undefined, undefined, input);
  return message;
}

describe("an rpc that was added to proto/ and generated", () => {
  const request = {
    name: "shelves/a b/books/é%?",
    bookFilter: {
      genres: ["GENRE_VERSE", "GENRE_PROSE"],
      inPrint: false,
      printedBefore: "2000-01-01T00:00:00Z",
      except: { inPrint: true },
    },
    pageNumbers: ["1", "-9223372036854775808"],
  };
  const rest = { copies: "18446744073709551615", rawCover: "AP8=", genre: "GENRE_VERSE" };

  it("is called over either transport, with fields in the path and the query string", async () => {
    for (const { transport } of transports) {
      const book = { longTitle: JSON.stringify(request), ...rest };
      expect(await call(transport, "getBook", request)).toEqual(book);
    }
  });

  it("is called over either transport, with a body", async () => {
    const shelf = { shelf: "a/b", book: { longTitle: "é", rawCover: "AP8=" }, labels: { "a.b": "c" } };
    for (const { transport } of transports) {
      const book = { longTitle: JSON.stringify(shelf), ...rest };
      expect(await call(transport, "addBook", shelf)).toEqual(book);
    }
  });

  it("streams messages over either transport, and then its failure", async () => {
    for (const { transport } of transports) {
      const { output } = streaming("watchBooks");
      const books: JsonValue[] = [];
      const reading = (async () => {
        for await (const book of await open(transport, "watchBooks", { pageNumbers: ["7"] })) {
          books.push(toJson(output, book));
        }
      })();
      await expect(reading).rejects.toMatchObject({ code: Code.OutOfRange, rawMessage: "no more books" });
      expect(books).toEqual([
        { longTitle: '{"pageNumbers":["7"]}' },
        { longTitle: 'a "}{" \n é', printedAt: "2024-02-29T00:00:00.500Z" },
        {},
      ]);
    }
  });

  it("streams a body over either transport", async () => {
    for (const { transport } of transports) {
      const { output } = streaming("downloadBook");
      const pieces: Buffer[] = [];
      for await (const part of await open(transport, "downloadBook", request)) {
        const json = toJson(output, part);
        expect(json).toMatchObject({ contentType: "text/plain" });
        const { data } = { data: "", ...(json as JsonObject) };
        pieces.push(Buffer.from(String(data), "base64"));
      }
      const expected = Buffer.concat([Buffer.from(JSON.stringify(request)), Buffer.of(0, 1, 2, 255)]);
      expect(Buffer.concat(pieces).equals(expected)).toBe(true);
    }
  });

  it("answers over REST with the one field that its rule says", async () => {
    for (const { name, transport } of transports) {
      const label = await call(transport, "getLabel", { name: "a" });
      expect(label).toEqual({ longTitle: '{"name":"a"}', ...(name === "grpc" && rest) });
      // A field that is not set is none over either.
      expect(await call(transport, "getTime", {})).toEqual(name === "grpc" ? { longTitle: "{}", ...rest } : {});
    }
  });

  it("refuses over REST, before it is sent, what its path cannot hold", async () => {
    const refusals = {
      grpc: { code: Code.InvalidArgument, rawMessage: "no name" },
      rest: {
        code: Code.InvalidArgument,
        cause: expect.objectContaining({
          name: "RequestError",
          summary: expect.stringContaining('name is "", which the path'),
        }),
      },
    };
    for (const { name, transport } of transports) {
      await expect(call(transport, "getBook", {})).rejects.toMatchObject(refusals[name]);
    }
  });
});
