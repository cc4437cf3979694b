// Slow, and worth it: each way to spoil what an export has kept begins with an export of its own.
import { writeFileSync } from "node:fs";
import { copyFile, mkdtemp, readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Client, createClient, ProtocolError, RequestError, type SavedExport, type SaveOptions } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { zipOf } from "../../support/archives.js";
import { eventually } from "../../support/eventually.js";
import { gate } from "../../support/gate.js";
import { cutShort, type HistoryProxy, replaced, startHistoryProxy } from "../../support/history-proxy.js";
import { failureOf } from "../../support/listing-clients.js";
import { taken } from "../../support/taken.js";

const request = { table: "trades", fromBlock: 1, toBlock: 160 } as const;

let node: Devnode;
let proxy: HistoryProxy;
let client: Client;
let folder: string;
let parts: string;
beforeAll(async () => {
  const schemaVersions = [115, 115, 115, 116];
  node = await startDevnode({ segments: 12, blocksPerSegment: 20, schemaVersions, blockMs: 0 });
});
afterAll(() => node.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-resume-"));
  parts = join(folder, "parts");
  proxy = await startHistoryProxy(node.grpcUrl);
  client = createClient({ grpc: { url: proxy.url }, retry: { tries: 1 } });
});
afterEach(async () => {
  await client.close();
  await proxy[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function saveAs(target: string, options: SaveOptions = {}): Promise<SavedExport> {
  return client.exportNetworkHistory(request).saveTo(target, { resume: parts, ...options });
}

const save = (options?: SaveOptions) => saveAs(`${folder}/out/`, options);

/** Export until the part that begins at a block fails. */
async function untilPart(block: bigint, options?: SaveOptions): Promise<void> {
  proxy.answer = (messages, { fromBlock }) =>
    fromBlock === block ? cutShort(messages, new ConnectError("the node ends", Code.Internal)) : messages;
  await expect(save(options)).rejects.toThrow("the node ends");
  proxy.answer = (messages) => messages;
  proxy.asked.length = 0;
}

const contentOf = ({ entries }: SavedExport) => entries.map(({ name, size, crc32 }) => ({ name, size, crc32 }));
const wholeArchive = () => client.exportNetworkHistory(request).saveTo(`${folder}/whole.zip`);

describe("an export that keeps its parts", () => {
  it("goes on with those that are there, and removes them at the end", async () => {
    await untilPart(101n);
    expect(await readdir(join(folder, "out")).catch(() => [])).toEqual([]);
    expect((await readdir(parts)).toSorted()).toEqual([
      "tradewire-part-1-20.zip",
      "tradewire-part-21-40.zip",
      "tradewire-part-41-60.zip",
      "tradewire-part-61-80.zip",
      "tradewire-part-81-100.zip",
      "tradewire-parts.json",
    ]);
    const saved = await save({ parallel: 2 });
    expect(proxy.asked.toSorted((a, b) => Number(a - b))).toEqual([101n, 121n, 141n]);
    expect(contentOf(saved)).toEqual(contentOf(await wholeArchive()));
    expect(saved.entries).toHaveLength(2);
    expect((await readdir(folder)).toSorted()).toEqual(["out", "whole.zip"]);
  });

  it("goes on over another transport too", async () => {
    await untilPart(101n);
    await using other = createClient({ rest: { url: node.restUrl } });
    const saved = await other.exportNetworkHistory(request).saveTo(`${folder}/out/`, { resume: parts });
    expect(contentOf(saved)).toEqual(contentOf(await wholeArchive()));
  });

  it.each([
    ["was changed", (path: string) => flip(path)],
    ["was cut", (path: string) => truncate(path, 100)],
    ["is gone", (path: string) => rm(path)],
    ["is another's", (path: string) => copyFile(join(parts, "tradewire-part-1-20.zip"), path)],
  ])("fetches a part again whose file %s", async (_, spoil) => {
    await untilPart(101n);
    await spoil(join(parts, "tradewire-part-41-60.zip"));
    const saved = await save();
    expect(proxy.asked).toEqual([41n, 101n, 121n, 141n]);
    expect(contentOf(saved)).toEqual(contentOf(await wholeArchive()));
  });

  it("takes no part that follows another segment than the node's", async () => {
    await untilPart(101n);
    const path = join(parts, "tradewire-parts.json");
    const manifest = JSON.parse(await readFile(path, "utf8"));
    manifest.parts[1].previousSegmentId = "of-another-history";
    await writeFile(path, JSON.stringify(manifest));
    await expect(save()).rejects.toThrow(/contains parts of blocks .* after "of-another-history", but the node has/);
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual(manifest);
  });

  it("believes no file that it has not noted", async () => {
    await untilPart(101n);
    const manifest = JSON.parse(await readFile(join(parts, "tradewire-parts.json"), "utf8"));
    manifest.parts = manifest.parts.filter(({ fromBlock }: { readonly fromBlock: string }) => fromBlock !== "21");
    await writeFile(join(parts, "tradewire-parts.json"), JSON.stringify(manifest));
    await flip(join(parts, "tradewire-part-21-40.zip"));
    expect(contentOf(await save())).toEqual(contentOf(await wholeArchive()));
    expect(proxy.asked).toContain(21n);
  });

  it("fetches a part again whose rows could not be joined", async () => {
    const files: Record<string, Buffer> = {};
    for await (const file of client.exportNetworkHistory({ ...request, fromBlock: 41, toBlock: 60 }).files()) {
      files[file.name] = Buffer.concat((await taken(file.content())).values).subarray(0, -1); // Its last row has no end.
    }
    const wrong = await zipOf(files);
    proxy.answer = (messages, { fromBlock }) => (fromBlock === 41n ? replaced(messages, wrong) : messages);
    await expect(save()).rejects.toThrow(ProtocolError);
    proxy.answer = (messages) => messages;
    proxy.asked.length = 0;
    expect(contentOf(await save())).toEqual(contentOf(await wholeArchive()));
    expect(proxy.asked).toContain(41n);
    expect(proxy.asked).not.toContain(21n);
  });

  it.each(["tradewire-part-1-20.zip", "tradewire-part-141-160.zip", "tradewire-parts.json", "tradewire.lock"])(
    "refuses a target that is what it keeps there: %s",
    async (name) => {
      const target = join(parts, name);
      const failure = await failureOf(() => saveAs(target, { force: true }));
      expect(failure).toBeInstanceOf(RequestError);
      expect(proxy.asked).toEqual([]);
      const other = await saveAs(join(parts, "1-20.zip"), { force: true });
      expect(await readdir(parts)).toEqual(["1-20.zip"]);
      expect((await stat(other.path)).size).toBe(other.bytes);
    },
  );

  it.each([
    [
      "another table",
      { ...request, table: "orders" },
      'parts of "trades", blocks 1 to 160, but orders, blocks 1 to 160,',
    ],
    ["another range", { ...request, toBlock: 180 }, "blocks 1 to 160, but trades, blocks 1 to 180,"],
  ] as const)("refuses %s, naming both, and must change at least one field", async (_, other, words) => {
    await untilPart(101n);
    const before = await readdir(parts);
    const failure = await failureOf(() => client.exportNetworkHistory(other).saveTo(`${folder}/`, { resume: parts }));
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ summary: expect.stringContaining(words) });
    expect(await readdir(parts)).toEqual(before);
    expect(proxy.asked).toEqual([]);
  });

  it("refuses another chain", async () => {
    await untilPart(101n);
    proxy.list = (segments) => segments.map((segment) => ({ ...segment, chainId: "chain-2" }));
    await expect(save()).rejects.toThrow('parts of the chain "tradewire-devnet", but the node is on chain "chain-2"');
  });

  it("refuses another history, naming both segments", async () => {
    await untilPart(101n);
    const before = await readdir(parts);
    proxy.list = (segments) =>
      segments.map((each) => ({
        ...each,
        historySegmentId: `x${each.historySegmentId}`,
        previousHistorySegmentId: each.previousHistorySegmentId && `x${each.previousHistorySegmentId}`,
      }));
    const failure = await failureOf(save);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({
      summary: expect.stringMatching(
        /blocks 1 to 20 up to the segment "[^x].*" after "", but the node has "x.*" after ""/,
      ),
    });
    expect(await readdir(parts)).toEqual(before);
    expect(proxy.asked).toEqual([]);
  });

  it("refuses segments that are cut otherwise", async () => {
    await untilPart(101n);
    proxy.list = (segments) => {
      const [second, first] = segments.slice(-2); // The newest comes first.
      return first && second
        ? [...segments.slice(0, -2), { ...second, fromHeight: 1n, previousHistorySegmentId: "" }]
        : [];
    };
    await expect(save()).rejects.toThrow("the node has no segments with these boundaries");
  });

  it("refuses a folder that does not say of what its parts are", async () => {
    await untilPart(101n);
    await writeFile(join(parts, "tradewire-parts.json"), '{"version":1,');
    const failure = await failureOf(save);
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ summary: expect.stringContaining("tradewire-parts.json") });
    await rm(join(parts, "tradewire-parts.json"));
    expect(contentOf(await save())).toEqual(contentOf(await wholeArchive()));
    expect(proxy.asked).toHaveLength(9); // All parts, and the whole.
  });

  it("keeps the parts where the segments change meanwhile", async () => {
    let listings = 0;
    proxy.list = (segments) => {
      listings += 1;
      return listings === 1 ? segments : segments.map((each) => ({ ...each, historySegmentId: "other" }));
    };
    expect(await failureOf(save)).toBeInstanceOf(ProtocolError);
    expect(await readdir(join(folder, "out"))).toEqual([]);
    proxy.list = (segments) => segments;
    proxy.asked.length = 0;
    expect((await save()).entries).toHaveLength(2);
    expect(proxy.asked).toEqual([]);
  });

  it("is one at a time in a folder", async () => {
    const { promise, open } = gate();
    proxy.answer = async function* (messages) {
      await promise;
      yield* messages;
    };
    const first = save();
    await eventually(() => proxy.asked.length > 0);
    const failure = await failureOf(() => save({ parallel: 3 }));
    expect(failure).toBeInstanceOf(RequestError);
    expect(failure).toMatchObject({ summary: expect.stringMatching(/parts" is in use by another export$/) });
    open();
    expect((await first).entries).toHaveLength(2);
  });

  it("takes a folder over whose export was killed elsewhere a minute ago, and no sooner", async () => {
    await untilPart(101n);
    const lock = join(parts, "tradewire.lock");
    await writeFile(lock, "0123456789abcdef-1-1 x");
    await expect(save()).rejects.toThrow("is in use by another export");
    const then = new Date(Date.now() - 61_000);
    await utimes(lock, then, then);
    expect((await save()).entries).toHaveLength(2);
  });

  it("finds the archive of a run that was ended once that had its name, and fetches nothing", async () => {
    const whole = await wholeArchive();
    const path = join(folder, "out", "tradewire-devnet-trades-116-1-160.zip");
    // Another file has the name when the archive is to take it, so the run ends there, with all parts.
    let listings = 0;
    proxy.list = (segments) => {
      listings += 1;
      if (listings === 2) {
        writeFileSync(path, "another file");
      }
      return segments;
    };
    await expect(save()).rejects.toThrow("file already exists");
    proxy.asked.length = 0;
    await expect(save()).rejects.toThrow("file already exists"); // It is not the archive.
    await rename(whole.path, path);
    const modified = (await stat(path)).mtimeMs;
    const { bytes, sha256, entries } = whole;
    expect(await save()).toMatchObject({ path, bytes, sha256, entries, fromBlock: 1n, toBlock: 160n });
    expect(proxy.asked).toEqual([]);
    expect((await stat(path)).mtimeMs).toBe(modified);
    expect(await readdir(folder)).toEqual(["out"]);
  });

  it("fetches nothing where the file exists", async () => {
    await writeFile(join(folder, "mine.zip"), "mine");
    const exported = client.exportNetworkHistory(request);
    const failure = await failureOf(() => exported.saveTo(join(folder, "mine.zip"), { resume: parts }));
    expect(failure).toMatchObject({ summary: expect.stringContaining("file already exists") });
    expect(proxy.asked).toEqual([]);
  });
});

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}
