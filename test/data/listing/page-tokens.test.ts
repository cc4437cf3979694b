// Methods with the pages of AIP-158 (https://google.aip.dev/158), of a service that is not the network's.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMethodUnary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createClient, NodeError, ProtocolError, pages, RequestError, records } from "tradewire";
import {
  type ClosableTransport,
  createGrpcJsTransport,
  createGrpcTransport,
  createRestTransport,
} from "tradewire/transport";
import { run } from "../../support/command.js";
import { compile, serviceOf, unaryMethod } from "../../support/definitions.js";
import { collect, failureOf } from "../../support/listing-clients.js";
import { serveNodeOf, type TestNode } from "../../support/node.js";

const SHELVES = `
syntax = "proto3";
package shelves.v1;
import "google/api/annotations.proto";

service ShelfService {
  rpc ListBooks(ListBooksRequest) returns (ListBooksResponse) {
    option (google.api.http) = {get: "/v1/{parent=shelves/*}/books"};
  }
  rpc ListTags(ListBooksRequest) returns (ListTagsResponse) {
    option (google.api.http) = {get: "/v1/tags"};
  }
}
message ListTagsResponse {
  string next_page_token = 1;
  repeated string tags = 2;
}
message ListBooksRequest {
  string parent = 1;
  int32 page_size = 2;
  string page_token = 3;
}
message ListBooksResponse {
  repeated Book books = 1;
  string next_page_token = 2;
  int32 total_size = 3;
  repeated string unreachable = 4;
}
message Book {
  string title = 1;
  int64 pages = 2;
}
`;

interface Request {
  readonly parent: string;
  readonly pageSize: number;
  readonly pageToken: string;
}

let folder: string;
let image: string;
let listBooks: DescMethodUnary;
let listTags: DescMethodUnary;
let node: TestNode;
let transports: Record<string, ClosableTransport>;
let requests: Request[] = [];
/** The answer to a request: the titles of its page, and the token of the next. */
let answer: (request: Request) => { readonly titles: readonly string[]; readonly next: string };

/** Seven books, at most three on a page. */
function threeAPage({ pageSize, pageToken }: Request) {
  const at = Number(pageToken);
  const end = Math.min(at + Math.min(pageSize || 3, 3), 7);
  return {
    titles: Array.from({ length: end - at }, (_, index) => `book ${at + index}`),
    next: end < 7 ? `${end}` : "",
  };
}

beforeAll(async () => {
  const registry = await compile({ "shelves.proto": SHELVES });
  folder = await mkdtemp(join(tmpdir(), "page-tokens-"));
  image = join(folder, "image.binpb");
  const file = [...registry.files].map(({ proto }) => proto);
  await writeFile(image, toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
  const service = serviceOf(registry, "shelves.v1.ShelfService");
  listBooks = unaryMethod(service, "ListBooks");
  listTags = unaryMethod(service, "ListTags");
  const routes = (router: ConnectRouter) => {
    router.rpc(listTags, (message) => {
      const request = message as unknown as Request;
      requests.push(request);
      const { titles, next } = answer(request);
      return create(listTags.output, { tags: titles, nextPageToken: next } as MessageInitShape<typeof listTags.output>);
    });
    router.rpc(listBooks, (message) => {
      const request = message as unknown as Request;
      requests.push(request);
      const { titles, next } = answer(request);
      const books = titles.map((title) => ({ title, pages: 474n }));
      return create(listBooks.output, { books, nextPageToken: next, totalSize: 7 } as MessageInitShape<
        typeof listBooks.output
      >);
    });
  };
  node = await serveNodeOf(routes, [service]);
  transports = {
    grpc: createGrpcTransport({ url: node.grpcUrl }),
    "grpc-js": createGrpcJsTransport({ url: node.grpcUrl }),
    rest: createRestTransport({ url: node.restUrl }),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(transports).map((transport) => transport.close()));
  await node.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  requests = [];
  answer = threeAPage;
});

const request = { parent: "shelves/1" };
const titlesOf = (found: readonly { readonly node: object }[]) => found.map((each) => Reflect.get(each.node, "title"));
const sizesAndTokens = () => requests.map(({ pageSize, pageToken }) => [pageSize, pageToken]);
function transport(way: string): ClosableTransport {
  const found = transports[way];
  if (found === undefined) {
    throw new Error(`there is no transport ${way}`);
  }
  return found;
}

describe.each(["grpc", "grpc-js", "rest"])("page tokens over %s", (way) => {
  it("lead through all records, by pages of a size that the server chooses", async () => {
    const found = await collect(records(transport(way), listBooks, request));
    expect(titlesOf(found)).toEqual([0, 1, 2, 3, 4, 5, 6].map((number) => `book ${number}`));
    expect(found.map(({ cursor }) => cursor)).toEqual(["", "", "", "3", "3", "3", "6"]);
    expect(JSON.stringify(found[6])).toBe('{"cursor":"6","node":{"title":"book 6","pages":"474"}}');
    expect(sizesAndTokens()).toEqual([
      [0, ""],
      [0, "3"],
      [0, "6"],
    ]);
    expect(requests.every(({ parent }) => parent === "shelves/1")).toBe(true);
  });

  it("lead through all responses", async () => {
    const found = await collect(pages(transport(way), listBooks, request, { pageSize: 2 }));
    expect(found.map((each) => Reflect.get(each, "totalSize"))).toEqual([7, 7, 7, 7]);
    expect(sizesAndTokens()).toEqual([
      [2, ""],
      [2, "2"],
      [2, "4"],
      [2, "6"],
    ]);
  });

  it("begin and end where the caller wants", async () => {
    const from = { ...request, pageToken: "3", pageSize: 2 } as MessageInitShape<typeof listBooks.input>;
    expect(titlesOf(await collect(records(transport(way), listBooks, from, { limit: 3 })))).toEqual([
      "book 3",
      "book 4",
      "book 5",
    ]);
    expect(sizesAndTokens()).toEqual([
      [2, "3"],
      [1, "5"],
    ]);
  });

  it("lead through the responses of a method whose pages list texts", async () => {
    answer = (asked) => ({ ...threeAPage(asked), titles: ["a", "a"] });
    const found = await collect(pages(transport(way), listTags, {}, { pageSize: 3 }));
    expect(found.map((page) => Reflect.get(page, "tags"))).toEqual([...Array(3)].map(() => ["a", "a"]));
    expect(sizesAndTokens()).toEqual([
      [3, ""],
      [3, "3"],
      [3, "6"],
    ]);
    const reason = await failureOf(() => records(transport(way), listTags));
    expect(reason).toBeInstanceOf(RequestError);
    expect(reason).toMatchObject({
      summary:
        "shelves.v1.ShelfService/ListTags has no records: its response shelves.v1.ListTagsResponse lists no messages",
      advice: "Read the responses with pages().",
    });
  });

  it("may lead over empty pages, which a server sends that filters", async () => {
    answer = ({ pageToken }) =>
      Number(pageToken) < 30 ? { titles: [], next: `${Number(pageToken) + 1}` } : { titles: ["Emma"], next: "" };
    expect(titlesOf(await collect(records(transport(way), listBooks, request)))).toEqual(["Emma"]);
    expect(requests).toHaveLength(31);
  });

  it.each<[string, typeof answer, string]>([
    ["a token repeats", () => ({ titles: ["Emma"], next: "1" }), 'the server repeated the cursor "1"'],
    [
      "the same records come under new tokens",
      () => ({ titles: ["Emma"], next: `${requests.length}` }),
      "the server repeated its pages under new cursors",
    ],
    [
      "empty pages do not end",
      () => ({ titles: [], next: `${requests.length}` }),
      "the server sent 1000 empty pages in a row",
    ],
  ])("end with an error where %s", async (_, sent, summary) => {
    answer = sent;
    const reason = await failureOf(() => collect(records(transport(way), listBooks, request)));
    expect(reason).toBeInstanceOf(ProtocolError);
    expect(reason).toMatchObject({ summary, method: "shelves.v1.ShelfService/ListBooks" });
    expect(requests.length).toBeLessThan(1010);
  });

  it("end with the error of the server, as one of the library's", async () => {
    answer = () => {
      throw new Error("no shelf");
    };
    const reason = await failureOf(() => collect(records(transport(way), listBooks, request)));
    expect(reason).toBeInstanceOf(NodeError);
    expect(String(reason)).toMatch(/the server answered INTERNAL.*\nThe server failed/);
    expect(String(reason)).not.toContain("node");
  });
});

it("a client goes through the records, too", async () => {
  await using client = createClient({ grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
  expect(await collect(client.records(listBooks, request))).toHaveLength(7);
});

it("what is no transport, no size or no limit is refused before anything is sent", async () => {
  const grpc = transport("grpc");
  const wrong: [() => unknown, string][] = [
    [
      () => records({} as ClosableTransport, listBooks),
      "transport must be a Connect transport, such as client.transport",
    ],
    [() => records(grpc, listBooks, request, { pageSize: 2 ** 31 }), "pageSize must be a whole number from 1 to"],
    [() => records(grpc, listBooks, request, { limit: 0 }), "limit must be a whole number from 1"],
  ];
  for (const [call, message] of wrong) {
    const reason = await failureOf(call);
    expect(reason).toBeInstanceOf(RequestError);
    expect(String(reason)).toContain(message);
  }
  expect(requests).toEqual([]);
});

it.each(["grpc", "rest"])("call --all prints all records by other definitions, over %s", async (way) => {
  const urls = ["--transport", way, "--grpc-url", node.grpcUrl, "--rest-url", node.restUrl];
  const args = ["call", "ListBooks", "--proto", image, "--set", "parent=shelves/1", ...urls];
  const { code, out, err } = await run([...args, "--all"]);
  expect([code, err]).toEqual([
    0,
    "Printing books, but not unreachable of each page: call without --all to see them.\n",
  ]);
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).title),
  ).toEqual([0, 1, 2, 3, 4, 5, 6].map((number) => `book ${number}`));
  expect((await run([...args, "--limit", "4"])).out.trim().split("\n")).toHaveLength(4);
});
