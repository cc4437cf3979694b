// Slow, and worth it: an export in parts has to be the same, byte for byte, over each transport and schema.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  type Client,
  ConnectionError,
  createClient,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  type SavedExport,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { zipOf } from "../../support/archives.js";
import { cutShort, type HistoryProxy, replaced, startHistoryProxy } from "../../support/history-proxy.js";
import { failureOf } from "../../support/listing-clients.js";

const BLOCKS = 20;
const VERSIONS = [110, 110, 110, 115, 115, 116];
const SEGMENTS = 9;
const request = { table: "trades", fromBlock: 1, toBlock: SEGMENTS * BLOCKS } as const;
const firstBlocks = Array.from({ length: SEGMENTS }, (_, index) => BigInt(index * BLOCKS + 1));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-parallel-"));
});
afterEach(() => rm(folder, { recursive: true }));

function startNode(profile?: "deployed", schemaVersions = VERSIONS) {
  return startDevnode({ segments: SEGMENTS, blocksPerSegment: BLOCKS, schemaVersions, profile, blockMs: 0 });
}

/** Run with a node behind a proxy, and a client of the proxy. */
async function throughProxy(
  run: (proxy: HistoryProxy, client: Client) => Promise<void>,
  config: { readonly tries?: number; readonly onRetry?: (retry: { readonly attempt: number }) => void } = {},
): Promise<void> {
  await using node = await startNode();
  await using proxy = await startHistoryProxy(node.grpcUrl);
  const { tries = 3, onRetry } = config;
  await using client = createClient(
    { grpc: { url: proxy.url }, retry: { tries, baseMs: 1 } },
    onRetry && { hooks: { onRetry } },
  );
  await run(proxy, client);
}

/** What an archive is: its name and its files with their sizes and checksums. */
function contentOf({ path, entries }: SavedExport) {
  return { name: basename(path), files: entries.map(({ name, size, crc32 }) => ({ name, size, crc32 })) };
}

describe("an export that is fetched in parts side by side", () => {
  it.each([
    ["grpc", undefined, VERSIONS, 3],
    ["rest", undefined, VERSIONS, 3],
    ["grpc", "deployed", VERSIONS, 3],
    ["rest", "deployed", [116], 1],
    ["grpc", undefined, [116], 1],
  ] as const)("is over %s (%s, %j) the archive of one stream", async (transport, profile, versions, files) => {
    await using node = await startNode(profile, [...versions]);
    const urls = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    await using client = createClient({ transport, ...urls, profile });
    const exported = client.exportNetworkHistory(request);
    const whole = await exported.saveTo(`${folder}/whole/`);
    const joined = await exported.saveTo(`${folder}/joined/`, { parallel: 4 });
    expect(contentOf(joined)).toEqual(contentOf(whole));
    expect(joined.entries).toHaveLength(files);
    expect(joined).toMatchObject({ fromBlock: 1n, toBlock: BigInt(request.toBlock), verified: "content" });
    expect(await readdir(join(folder, "joined"))).toEqual([basename(whole.path)]);
  });

  it("has the form of the names that the node's files have, whatever the client expects", async () => {
    await using node = await startNode("deployed");
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const exported = client.exportNetworkHistory(request, { extensions: "optional" });
    const whole = await exported.saveTo(`${folder}/whole/`);
    expect(contentOf(await exported.saveTo(`${folder}/joined/`, { parallel: 2 }))).toEqual(contentOf(whole));
  });

  it("asks for each segment once, as many at once as was said", async () => {
    await throughProxy(async (proxy, client) => {
      let waiting: (() => void)[] = [];
      proxy.answer = async function* (messages) {
        // Each waits until three are under way, or the last ones are.
        const left = SEGMENTS - proxy.asked.length;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length === Math.min(3, 3 + left)) {
            for (const go of waiting) {
              go();
            }
            waiting = [];
          }
        });
        yield* messages;
      };
      await client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 3 });
      expect(proxy.asked.toSorted((a, b) => Number(a - b))).toEqual(firstBlocks);
      expect(proxy.most()).toBe(3);
    });
  });

  it("is one stream by default", async () => {
    await throughProxy(async (proxy, client) => {
      await client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 1 });
      expect(proxy.asked).toEqual([1n]);
    });
  });

  it("fetches a part that breaks off again, and it alone", async () => {
    const retries: { readonly attempt: number }[] = [];
    await throughProxy(
      async (proxy, client) => {
        const whole = await client.exportNetworkHistory(request).saveTo(`${folder}/whole/`);
        proxy.asked.length = 0;
        proxy.answer = (messages, { fromBlock, time }) =>
          fromBlock === 41n && time <= 2 ? cutShort(messages, new ConnectError("gone", Code.Internal)) : messages;
        const progress: number[] = [];
        const exported = client.exportNetworkHistory(request, { onProgress: ({ bytes }) => progress.push(bytes) });
        const joined = await exported.saveTo(`${folder}/joined/`, { parallel: 2 });
        expect(contentOf(joined).files).toEqual(contentOf(whole).files);
        expect(proxy.asked.filter((block) => block === 41n)).toHaveLength(3);
        expect(proxy.asked).toHaveLength(SEGMENTS + 2);
        expect(retries).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
        expect(progress.at(-1)).toBe(await bytesOfParts(client));
      },
      { onRetry: (retry) => retries.push(retry) },
    );
  });

  it("fails with what a part fails with for good, stops the others, and leaves nothing behind", async () => {
    await throughProxy(
      async (proxy, client) => {
        let ended: (() => void) | undefined;
        const end = new Promise<void>((resolve) => {
          ended = resolve;
        });
        proxy.answer = async function* (messages, { fromBlock }) {
          if (fromBlock === 61n) {
            yield* cutShort(messages, new ConnectError("no disk", Code.Internal));
          }
          try {
            yield* messages;
            if (fromBlock === 41n) {
              await new Promise(() => undefined); // It would never end by itself.
            }
          } finally {
            ended?.();
          }
        };
        const failure = await failureOf(() =>
          client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }),
        );
        expect(failure).toBeInstanceOf(NodeError);
        expect(failure).toMatchObject({ summary: expect.stringContaining("no disk") });
        expect(proxy.asked.filter((block) => block === 61n)).toHaveLength(2);
        expect(proxy.asked).not.toContain(161n);
        expect(await readdir(folder)).toEqual([]);
        await end;
      },
      { tries: 2 },
    );
  });

  it("does not try again what comes again anyway", async () => {
    await throughProxy(async (proxy, client) => {
      proxy.answer = (messages, { fromBlock }) =>
        fromBlock === 21n ? cutShort(messages, new ConnectError("no", Code.InvalidArgument)) : messages;
      const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
      expect(failure).toMatchObject({ code: Code.InvalidArgument });
      expect(proxy.asked.filter((block) => block === 21n)).toHaveLength(1);
    });
  });

  it.each([
    ["another range", 61n, /starts at block 61, but .* at block 41/],
    ["another schema version", 1n, /has schema version 110, but the segments \d+ to \d+ are listed with version 109/],
  ])("refuses a part that is of %s", async (what, other, words) => {
    await using node = await startNode("deployed");
    await using proxy = await startHistoryProxy(node.grpcUrl);
    await using client = createClient({ grpc: { url: proxy.url }, profile: "deployed", retry: { tries: 1 } });
    const archive = await bytesOf(client, other);
    proxy.answer = (messages, { fromBlock }) => (fromBlock === 41n ? replaced(messages, archive) : messages);
    if (what === "another schema version") {
      proxy.answer = (messages) => messages;
      proxy.list = (segments) => segments.map((segment) => ({ ...segment, databaseVersion: 109n }));
    }
    const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
    expect(failure).toBeInstanceOf(ProtocolError);
    expect(failure).toMatchObject({ summary: expect.stringMatching(words) });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ["whose name says nothing", { "rows.csv": "a\n" }, /"rows\.csv", a name without/],
    [
      "beside another one",
      { "chain-trades-41-50.csv": "a\n", "chain-trades-51-60.csv": "a\n" },
      /contains a second file/,
    ],
    ["of another chain", { "chain-trades-41-60.csv": "a\n" }, /contains the chain "chain", but "tradewire-devnet" was/],
  ])("refuses a part with a file %s", async (_, files, words) => {
    await throughProxy(async (proxy, client) => {
      const contents = Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]);
      const archive = await zipOf(Object.fromEntries(contents));
      proxy.answer = (messages, { fromBlock }) => (fromBlock === 41n ? replaced(messages, archive) : messages);
      const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
      expect(failure).toBeInstanceOf(ProtocolError);
      expect(failure).toMatchObject({ summary: expect.stringMatching(words) });
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it("refuses parts of one schema version whose columns differ", async () => {
    await throughProxy(async (proxy, client) => {
      proxy.list = (segments) => segments.map((segment) => ({ ...segment, databaseVersion: 1n }));
      const wide = { ...request, table: "markets" } as const;
      const versions = await client.exportNetworkHistory(wide).saveTo(`${folder}/whole/`);
      expect(versions.entries).toHaveLength(3);
      const failure = await failureOf(() =>
        client.exportNetworkHistory(wide).saveTo(`${folder}/new/`, { parallel: 2 }),
      );
      expect(failure).toMatchObject({ summary: expect.stringContaining("different columns") });
      expect(await readdir(join(folder, "new"))).toEqual([]);
    });
  });

  it("names the nearest range, and fetches nothing, where segments do not make up the range", async () => {
    await throughProxy(async (proxy, client) => {
      const off = client.exportNetworkHistory({ ...request, toBlock: 150 });
      await expect(off.saveTo(`${folder}/`, { parallel: 2 })).rejects.toMatchObject({
        summary: "toBlock 150 is not the last block of a history segment",
        advice: expect.stringContaining("1 to 140"),
      });
      proxy.list = (segments) => segments.filter(({ fromHeight }) => fromHeight !== 81n);
      const gap = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
      expect(gap).toBeInstanceOf(RequestError);
      expect(gap).toMatchObject({ summary: "the history has a gap after block 80" });
      expect(proxy.asked).toEqual([]);
      const snapped = client.exportNetworkHistory({ table: "trades", fromBlock: 5, toBlock: 45 }, { snap: true });
      expect(await snapped.saveTo(`${folder}/`, { parallel: 2 })).toMatchObject({ fromBlock: 1n, toBlock: 60n });
    });
  });

  it("stops at segments that are no chain, naming both", async () => {
    await throughProxy(async (proxy, client) => {
      proxy.list = (segments) =>
        segments.map((each) => (each.fromHeight === 41n ? { ...each, previousHistorySegmentId: "other" } : each));
      const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
      expect(failure).toBeInstanceOf(ProtocolError);
      expect(failure).toMatchObject({
        summary: expect.stringMatching(/the segment 41 to 60 .* after "other", but .* the segment 21 to 40/),
      });
      expect(proxy.asked).toEqual([]);
    });
  });

  it("refuses segments whose schema changes more often than any does", async () => {
    const count = 1010;
    await using node = await startDevnode({ segments: count, blocksPerSegment: 1, schemaVersions: [116], blockMs: 0 });
    await using proxy = await startHistoryProxy(node.grpcUrl);
    await using client = createClient({ grpc: { url: proxy.url } });
    proxy.list = (segments) => segments.map((each, index) => ({ ...each, databaseVersion: BigInt(115 + (index % 2)) }));
    const exported = client.exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: count });
    await expect(exported.saveTo(`${folder}/`, { parallel: 2 })).rejects.toThrow(
      "of the node's segments split the export into 1010 files",
    );
    expect(proxy.asked).toEqual([]);
  });

  it("saves nothing where the segments have changed meanwhile, unless the oldest were dropped only", async () => {
    await throughProxy(async (proxy, client) => {
      let listings = 0;
      let change: (segments: Parameters<HistoryProxy["list"]>[0]) => ReturnType<HistoryProxy["list"]>;
      proxy.list = (segments) => {
        listings += 1;
        return listings === 1 ? segments : change(segments);
      };
      const save = () => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 });
      change = (segments) =>
        segments.map((each) => (each.fromHeight === 41n ? { ...each, historySegmentId: "other" } : each));
      const failure = await failureOf(save);
      expect(failure).toBeInstanceOf(ProtocolError);
      expect(failure).toMatchObject({
        summary: expect.stringMatching(
          /has changed: it listed the segment 41 to 60 .* now the segment 41 to 60 \("other"\)/,
        ),
      });
      expect(await readdir(folder)).toEqual([]);
      // The node lists the newest first.
      listings = 0;
      change = (segments) => segments.slice(2);
      await expect(save()).rejects.toThrow("now has none there");
      listings = 0;
      change = (segments) => segments.slice(0, -2);
      expect((await save()).entries).toHaveLength(3);
    });
  });

  it("ends with its signal, and leaves nothing behind", async () => {
    await throughProxy(async (proxy, client) => {
      const abort = new AbortController();
      proxy.answer = async function* (messages, { fromBlock }) {
        yield* messages;
        if (fromBlock === 41n) {
          abort.abort();
          await new Promise(() => undefined);
        }
      };
      const exported = client.exportNetworkHistory(request, { signal: abort.signal });
      expect(await failureOf(() => exported.saveTo(`${folder}/`, { parallel: 2 }))).toBeInstanceOf(CanceledError);
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it("ends with its client", async () => {
    await throughProxy(async (proxy, client) => {
      proxy.answer = async function* (messages, { fromBlock }) {
        yield* messages;
        if (fromBlock === 41n) {
          void client.close();
          await new Promise(() => undefined);
        }
      };
      const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, { parallel: 2 }));
      expect(failure).toBeInstanceOf(ConnectionError);
      expect(failure).toMatchObject({ summary: "the client was closed during the call" });
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it("fetches nothing where the file exists, and replaces it where it may", async () => {
    await throughProxy(async (proxy, client) => {
      const target = join(folder, "mine.zip");
      await writeFile(target, "mine");
      const exported = client.exportNetworkHistory(request);
      expect(await failureOf(() => exported.saveTo(target, { parallel: 2 }))).toBeInstanceOf(FileError);
      expect(proxy.asked).toEqual([]);
      expect((await exported.saveTo(target, { parallel: 2, force: true })).path).toBe(target);
      expect(await readdir(folder)).toEqual(["mine.zip"]);
    });
  });

  it.each([0, 1.5, -1, 101, Number.NaN, "2"])("refuses %p parts at once", async (parallel) => {
    await throughProxy(async (proxy, client) => {
      const options = { parallel: parallel as number };
      const failure = await failureOf(() => client.exportNetworkHistory(request).saveTo(`${folder}/`, options));
      expect(failure).toBeInstanceOf(RequestError);
      expect(failure).toMatchObject({ summary: expect.stringContaining("must be a whole number from 1 to 100 (got ") });
      expect(proxy.asked).toEqual([]);
    });
  });
});

async function bytesOf(client: Client, fromBlock: bigint): Promise<Buffer> {
  const pieces = [];
  const range = { table: "trades", fromBlock, toBlock: fromBlock + BigInt(BLOCKS) - 1n } as const;
  for await (const piece of client.exportNetworkHistory(range).bytes()) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function bytesOfParts(client: Client): Promise<number> {
  const parts = await Promise.all(firstBlocks.map((block) => bytesOf(client, block)));
  return parts.reduce((sum, { length }) => sum + length, 0);
}
