import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  type Client,
  type ClientConfig,
  ConnectionError,
  createClient,
  type ErrorObject,
  type ExportOptions,
  type ExportProgress,
  type NetworkHistoryExport,
  NodeError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "tradewire";
import { csvZip, cutEvery, zipOf } from "../../support/archives.js";
import { type Script, serveExport, type Wire } from "../../support/export-server.js";

const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
const disposition = "attachment;filename=chain-1-trades-1-3000.zip";
const stringValue = anyPack(StringValueSchema, create(StringValueSchema, { value: "all rows" }));
const extensions = [{ "@type": "type.googleapis.com/google.protobuf.StringValue", value: "all rows" }];
const METHOD = "datanode.api.v2.TradingDataService/ExportNetworkHistory";

/** The ways an export can come, by the client's configuration and by what the server sends. */
const ways: Readonly<Record<string, { readonly wire: Wire; readonly config: (url: string) => ClientConfig }>> = {
  grpc: { wire: "grpc", config: (url) => ({ transport: "grpc", grpc: { url } }) },
  "grpc in JSON": { wire: "grpc", config: (url) => ({ transport: "grpc", grpc: { url, codec: "json" } }) },
  "rest, raw": { wire: "raw", config: (url) => ({ transport: "rest", rest: { url } }) },
  "rest, envelopes": { wire: "envelopes", config: (url) => ({ transport: "rest", rest: { url } }) },
};
const grpcOnly = ["grpc", "grpc in JSON"];
const withChunks = [...grpcOnly, "rest, envelopes"];
const all = Object.keys(ways);

let folder: string;
let archive: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-export-"));
  archive = await csvZip(30_000);
});
afterAll(() => rm(folder, { recursive: true }));

function chunksOf(bytes: Buffer, size = 7000) {
  return cutEvery(bytes, size).map((data, index) => ({
    contentType: "application/zip",
    data,
    extensions: index === 0 ? [stringValue] : [],
  }));
}

/** The four ways to take an export; each gives back the bytes. */
const takings: Readonly<Record<string, (exported: NetworkHistoryExport) => Promise<Buffer>>> = {
  async chunks(exported) {
    const data = [];
    let error: ErrorObject | undefined;
    for await (const chunk of exported.chunks()) {
      expect(error).toBeUndefined();
      error = chunk.error;
      data.push(chunk.result?.data ?? Buffer.alloc(0));
    }
    return Buffer.concat(data);
  },
  async bytes(exported) {
    const data = [];
    for await (const piece of exported.bytes()) {
      data.push(piece);
    }
    return Buffer.concat(data);
  },
  async saveTo(exported) {
    const { path, sha256 } = await exported.saveTo(folder);
    const bytes = await readFile(path);
    await rm(path);
    expect(sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
    return bytes;
  },
  async toZip(exported) {
    const zip = await exported.toZip();
    expect(Object.keys(zip.files)).toEqual(["chain-1-trades-1-3000.csv"]);
    return archive;
  },
};

async function playing<T>(way: string, script: Script, run: (client: Client, closed: Promise<void>) => Promise<T>) {
  const { wire, config } = ways[way] ?? {};
  if (wire === undefined || config === undefined) {
    throw new Error(`there is no way ${way}`);
  }
  await using server = await serveExport(wire, { disposition, ...script });
  await using client = createClient(config(server.url));
  return await run(client, server.closed);
}

async function failure(promise: Promise<unknown>): Promise<TradewireError> {
  const reason = await promise.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
  if (!(reason instanceof TradewireError)) {
    throw reason;
  }
  return reason;
}

const details = [
  { "@type": "type.googleapis.com/vega.ErrorDetail", code: 20_002, message: "invalid range", inner: "segment 3" },
];
const refused: ErrorObject = { code: Code.InvalidArgument, message: "no such range: 50% of «it»\nis gone", details };
const failed: ErrorObject = { code: Code.Internal, message: "segment 3 cannot be read", details };

interface Expected {
  readonly class: abstract new (...args: never) => TradewireError;
  readonly code: Code;
  readonly summary: string | RegExp;
  readonly details?: ErrorObject["details"];
}

interface Case {
  readonly name: string;
  readonly script: () => Script;
  readonly over: readonly string[];
  readonly options?: ExportOptions;
  readonly error?: Expected;
}

function nodeError({ code, details }: ErrorObject, summary: string): Expected {
  return { class: NodeError, code, summary, details };
}

function dataLoss(summary: string | RegExp): Expected {
  return { class: ProtocolError, code: Code.DataLoss, summary };
}

function otherType(summary: string | RegExp): Expected {
  return { class: ProtocolError, code: Code.Internal, summary };
}

const lost = { class: ConnectionError, code: Code.Unavailable, summary: /^the connection was lost \(/ };

const cases: readonly Case[] = [
  { name: "is given whole", script: () => ({ chunks: chunksOf(archive) }), over: all },
  {
    name: "is given whole, byte by byte",
    script: () => ({ chunks: chunksOf(archive.subarray(0)), pieceSize: 97 }),
    over: all,
  },
  {
    name: "is given whole where extensions are missing but optional",
    script: () => ({ chunks: [{ contentType: "application/zip", data: archive }] }),
    over: all,
    options: { extensions: "optional" },
  },
  {
    name: "fails before the first chunk",
    script: () => ({ chunks: [], end: refused }),
    over: all,
    error: nodeError(
      refused,
      // A summary is one line.
      "the node answered INVALID_ARGUMENT: no such range: 50% of «it» is gone: invalid range: segment 3",
    ),
  },
  {
    name: "fails in the middle, at a chunk's end",
    script: () => ({ chunks: chunksOf(archive).slice(0, 3), end: failed }),
    over: withChunks,
    error: nodeError(
      failed,
      // "segment 3", of the detail, is in the message already.
      "the node answered INTERNAL: segment 3 cannot be read: invalid range",
    ),
  },
  {
    name: "fails after an archive that looks whole",
    script: () => ({ chunks: chunksOf(archive), end: failed }),
    over: all,
    error: nodeError(
      failed,
      // "segment 3", of the detail, is in the message already.
      "the node answered INTERNAL: segment 3 cannot be read: invalid range",
    ),
  },
  {
    name: "fails without a message or details",
    script: () => ({ chunks: chunksOf(archive), end: { code: Code.DataLoss, message: "", details: [] } }),
    over: all,
    error: {
      class: NodeError,
      code: Code.DataLoss,
      summary: "the node answered DATA_LOSS, without a message",
      details: [],
    },
  },
  {
    name: "is cut off in the middle",
    script: () => ({ chunks: chunksOf(archive).slice(0, 3), end: "cut" }),
    over: all,
    error: lost,
  },
  {
    name: "is cut off after an archive that looks whole",
    script: () => ({ chunks: chunksOf(archive), end: "cut" }),
    over: all,
    error: lost,
  },
  {
    name: "ends well before the archive does",
    script: () => ({ chunks: chunksOf(archive).slice(0, 3) }),
    over: all,
    error: dataLoss("the archive is truncated: the stream ended after 21000 bytes"),
  },
  {
    name: "has a line feed after each chunk",
    script: () => ({
      chunks: chunksOf(archive).map((chunk) => ({ ...chunk, data: Buffer.concat([chunk.data, Buffer.from("\n")]) })),
    }),
    over: all,
    error: dataLoss(/^the archive is corrupt: its directory does not cover 4 of the \d+ bytes/),
  },
  {
    name: "is followed by something",
    script: () => ({ chunks: chunksOf(Buffer.concat([archive, Buffer.from("and more")])) }),
    over: all,
    error: dataLoss('8 bytes follow the archive\'s end: "and more"'),
  },
  {
    name: "is empty",
    script: () => ({ chunks: [] }),
    over: withChunks,
    error: dataLoss("the stream of the export is empty"),
  },
  {
    name: "lacks extensions",
    script: () => ({ chunks: [{ contentType: "application/zip", data: archive }] }),
    over: withChunks,
    error: dataLoss("the first chunk has no extensions"),
  },
  {
    name: "is of another content type",
    script: () => ({ chunks: [{ contentType: "text/csv", data: Buffer.from("a,b\n"), extensions: [stringValue] }] }),
    over: all,
    error: otherType('the content type of chunk 1 must be "application/zip" (got "text/csv"); it starts with "a,b\\n"'),
  },
  {
    name: "is no archive",
    script: () => ({
      chunks: [{ contentType: "application/zip", data: Buffer.from("a,b\n"), extensions: [stringValue] }],
    }),
    over: all,
    error: dataLoss('the response is not a ZIP archive; it starts with "a,b\\n"'),
  },
  {
    name: "is answered by a proxy's failure",
    script: () => ({ chunks: [], page: { status: 502, text: "<h1>Bad Gateway</h1>" } }),
    over: all,
    error: { class: NodeError, code: Code.Unavailable, summary: /^the node answered UNAVAILABLE: HTTP 502/ },
  },
  {
    name: "is answered by a page",
    script: () => ({ chunks: [], page: { status: 200, text: "<h1>Welcome</h1>" } }),
    over: ["rest, raw", ...grpcOnly],
    error: {
      class: ProtocolError,
      code: Code.Unknown, // doc/PROTOCOL-HTTP2.md of gRPC: a content type that is not gRPC's.
      summary: /^unexpected response with content type text\/html(; it starts with "<h1>Welcome<\/h1>"| \(http.*\))$/,
    },
  },
  ...(
    [
      ["a chunk's data is not base64", '{"result":{"data":"UEsD*"}}', /^data of a chunk is not base64/],
      ["a chunk's data is base64 of another alphabet", '{"result":{"data":"_-8="}}', /^data of a chunk is not base64/],
      ["a chunk is both", '{"result":{"data":""},"error":{"code":13}}', /^a chunk has both a result and an error/],
      ["a chunk is neither", '{"other":1}', /^a chunk has neither a result nor an error; it has the fields: other/],
      ["something is no JSON", "<html>", /^expected a JSON object at byte \d+, but found "<html>/],
      ["an object is cut short", '{"result":{"data":"', /^the stream was truncated at byte \d+, inside a JSON object/],
    ] as const
  ).map(
    ([name, line, summary]): Case => ({
      name: `is refused where ${name}`,
      script: () => ({ chunks: chunksOf(archive).slice(0, 2), lines: [line] }),
      over: ["rest, envelopes"],
      error: dataLoss(summary),
    }),
  ),
];

describe("an export", () => {
  const table = cases.flatMap((one) => one.over.map((way) => [one.name, way, one] as const));

  it.each(table)("%s (%s)", async (_, way, { script, options, error }) => {
    await playing(way, script(), async (client) => {
      for (const [name, take] of Object.entries(takings)) {
        const taken = take(client.exportNetworkHistory(request, options));
        if (error === undefined) {
          expect([name, (await taken).equals(archive)]).toEqual([name, true]);
        } else {
          const found = await failure(taken);
          expect(found).toBeInstanceOf(error.class);
          expect(found).toMatchObject({ code: error.code, method: METHOD, transport: way.replace(/\W.*/, "") });
          expect(found.details).toEqual(error.details ?? []);
          if (typeof error.summary === "string") {
            expect(found.summary).toBe(error.summary);
          } else {
            expect(found.summary).toMatch(error.summary);
          }
          expect(found.advice).not.toBe("");
        }
        expect(await readdir(folder)).toEqual([]);
      }
    });
  });
});

describe.each(all)("over %s", (way) => {
  const good = (): Script => ({ chunks: chunksOf(archive) });

  it("an export tells its extensions and takes the node's name", async () => {
    await playing(way, good(), async (client) => {
      const saved = await client.exportNetworkHistory(request).saveTo(`${join(folder, "own")}/`);
      await rm(join(folder, "own"), { recursive: true });
      expect(saved.path).toBe(join(folder, "own", "chain-1-trades-1-3000.zip"));
      expect(saved.extensions).toEqual(way === "rest, raw" ? [] : extensions);
      expect(saved.entries.map(({ name, size }) => [name, size])).toEqual([["chain-1-trades-1-3000.csv", 40_804]]);
    });
  });

  it("an export tells how far it has come", async () => {
    await playing(way, good(), async (client) => {
      const told: ExportProgress[] = [];
      await client.exportNetworkHistory(request, { onProgress: (progress) => told.push(progress) }).toZip();
      expect(told.map(({ chunks }) => chunks)).toEqual(told.map((_, index) => index + 1));
      expect(told.at(-1)?.bytes).toBe(archive.length);
      expect(told.map(({ bytes }) => bytes)).toEqual(told.map(({ bytes }) => bytes).sort((a, b) => a - b));
    });
  });

  it("an error of the node is the last chunk and is thrown too", async () => {
    await playing(way, { ...good(), end: failed }, async (client) => {
      const seen: unknown[] = [];
      const error = await failure(
        (async () => {
          for await (const chunk of client.exportNetworkHistory(request).chunks()) {
            seen.push(chunk.error ?? "result");
          }
        })(),
      );
      expect(seen.slice(0, -1)).toEqual(Array(seen.length - 1).fill("result"));
      expect(seen.at(-1)).toEqual(failed);
      expect(error).toMatchObject({ object: failed });
    });
  });

  it.each(Object.keys(takings))("an export is ended by the caller's signal, with %s", async (name) => {
    await playing(way, { chunks: chunksOf(archive).slice(0, 3), end: "wait" }, async (client, closed) => {
      const controller = new AbortController();
      const exported = client.exportNetworkHistory(request, {
        signal: controller.signal,
        onProgress: ({ bytes }) => bytes === 21_000 && controller.abort("enough"),
      });
      const error = await failure(takings[name]?.(exported) ?? Promise.resolve());
      expect(error).toBeInstanceOf(CanceledError);
      expect(error).toMatchObject({ code: Code.Canceled, cause: "enough" });
      expect(await readdir(folder)).toEqual([]);
      await closed;
    });
  });

  it("an export is not begun where the signal is aborted already", async () => {
    await playing(way, good(), async (client) => {
      const exported = client.exportNetworkHistory(request, { signal: AbortSignal.abort() });
      for (const take of Object.values(takings)) {
        expect(await failure(take(exported))).toBeInstanceOf(CanceledError);
      }
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it.each(["chunks", "bytes"] as const)("whoever stops taking %s closes the stream", async (kind) => {
    await playing(way, { chunks: chunksOf(archive).slice(0, 3), end: "wait" }, async (client, closed) => {
      for await (const first of client.exportNetworkHistory(request)[kind]()) {
        expect(first).toBeDefined();
        break;
      }
      await closed;
    });
  });

  it("an archive that is larger than the limit is not taken into memory", async () => {
    const { wire, config } = ways[way] ?? { wire: "raw", config: (): never => raise() };
    await using server = await serveExport(wire, { ...good(), end: "wait" });
    await using client = createClient({ ...config(server.url), limits: { maxArchiveBytes: 20_000 } });
    const error = await failure(client.exportNetworkHistory(request).toZip());
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({ code: Code.ResourceExhausted });
    expect(error.summary).toBe("the archive exceeds the memory limit of 20000 bytes");
    await server.closed;
  });

  it("an archive of several files is given whole", async () => {
    const second = Buffer.from("a,c\n1,\n");
    const crossing = await zipOf({
      "chain-1-trades-1-1-2000.csv": Buffer.from("a,b\n"),
      "chain-1-trades-2-2001-3000.csv": second,
    });
    await playing(way, { chunks: chunksOf(crossing, 50) }, async (client) => {
      const zip = await client.exportNetworkHistory(request).toZip();
      expect(await zip.file("chain-1-trades-2-2001-3000.csv")?.async("nodebuffer")).toEqual(second);
    });
  });

  it("a node that is down is a lost connection", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => free.once("listening", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const url = `http://127.0.0.1:${port}`;
    await using client = createClient(ways[way]?.config(url) ?? raise());
    for (const take of Object.values(takings)) {
      const error = await failure(take(client.exportNetworkHistory(request)));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ code: Code.Unavailable, summary: `the connection was refused (${url})` });
    }
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("a port of the other transport", () => {
  it.each([
    ["grpc", "raw", /^the server does not speak the protocol of this transport/],
    ["rest, raw", "grpc", /^the server does not speak the protocol of this transport/],
  ] as const)("is said to be one (%s to a port of %s)", async (way, wire, summary) => {
    await using server = await serveExport(wire, { chunks: chunksOf(archive) });
    await using client = createClient(ways[way]?.config(server.url) ?? raise());
    const error = await failure(client.exportNetworkHistory(request).saveTo(folder));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.summary).toMatch(summary);
    expect(error.advice).toContain("to this transport");
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("exportNetworkHistory", () => {
  it.each([
    [{ ...request, fromBlock: 0 }, "fromBlock must be a whole number from 1 (got 0)"],
    [{ ...request, toBlock: 2.5 }, "toBlock must be a whole number from 1 (got 2.5)"],
    [{ ...request, toBlock: 2n ** 63n }, "toBlock must be a whole number from 1 (got 9223372036854775808)"],
    [{ ...request, fromBlock: 4000 }, "fromBlock 4000 is after toBlock 3000"],
    [{ ...request, table: 0 }, "unknown table 0"],
    [{ ...request, table: 99 }, "unknown table 99"],
  ])("refuses what cannot be right before anything is sent: %j", async (wrong, summary) => {
    await using client = createClient({ transport: "grpc", grpc: { url: "http://127.0.0.1:1" } });
    const ask = () => client.exportNetworkHistory(wrong);
    expect(ask).toThrow(RequestError);
    expect(ask).toThrow(summary);
  });

  it.each([
    ['{"table": "trades", "fromBlock": "1", "toBlock": 3000}', 'fromBlock must be a whole number, such as 1 (got "1")'],
    ['{"fromBlock": 1, "toBlock": 3000}', "unknown table undefined"],
  ])("refuses what only a program without types can give: %s", async (wrong, summary) => {
    await using client = createClient({ transport: "grpc", grpc: { url: "http://127.0.0.1:1" } });
    const ask = () => client.exportNetworkHistory(JSON.parse(wrong));
    expect(ask).toThrow(RequestError);
    expect(ask).toThrow(summary);
  });
});

function raise(): never {
  throw new Error("there is no such way");
}
