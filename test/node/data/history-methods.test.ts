import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { RequestError, tableNames } from "tradewire";
import { CHUNK_BYTES, type WriteArchiveOptions, writeArchive } from "../../../src/node/data/history-methods.js";
import { eventually, standsStill } from "../../support/eventually.js";
import { createHistory, csvHeader, generateHistory, type History } from "../inside.js";

const made = (blocksPerSegment: number) =>
  createHistory({
    generated: generateHistory({ blocks: 5 * blocksPerSegment }),
    chainId: "devnode-1",
    segments: 5,
    blocksPerSegment,
  });
const history = made(100);
const whole: WriteArchiveOptions = { table: "trades", fromBlock: 1n, toBlock: 500n };
/** Of so many blocks that an archive has several parts. */
const large = made(1000);
const wholeLarge: WriteArchiveOptions = { ...whole, toBlock: 5000n };

async function parts(options: WriteArchiveOptions, from: Pick<History, "chainId" | "segments" | "read"> = history) {
  const all = [];
  for await (const part of writeArchive(from, options)) {
    all.push(part);
  }
  return all;
}

async function files(options: WriteArchiveOptions): Promise<Map<string, string>> {
  const zip = await JSZip.loadAsync(Buffer.concat(await parts(options)), { checkCRC32: true });
  const entries = Object.values(zip.files).map(
    async (file): Promise<[string, string]> => [file.name, await file.async("text")],
  );
  return new Map(await Promise.all(entries));
}

/** The large history, counting the pieces that are made. */
function watched(fail = Number.POSITIVE_INFINITY) {
  const counts = { made: 0, active: 0 };
  async function* read(...[table, segment, signal]: Parameters<History["read"]>) {
    counts.active += 1;
    try {
      for await (const piece of large.read(table, segment, signal)) {
        counts.made += 1;
        if (counts.made === fail) {
          throw new Error("the disk is gone");
        }
        yield piece;
      }
    } finally {
      counts.active -= 1;
    }
  }
  return { counts, history: { ...large, read } };
}

describe("writeArchive", () => {
  it.each(tableNames)("puts one CSV file of %s into the archive of one schema version", async (table) => {
    const csvs = await files({ table, fromBlock: 101n, toBlock: 300n });
    expect([...csvs.keys()]).toEqual([`devnode-1-${table}-101-300.csv`]);
    const expected = [Buffer.from(csvHeader(table, 115))];
    for (const segment of history.segments().slice(1, 3)) {
      for await (const piece of history.read(table, segment)) {
        expected.push(Buffer.from(piece));
      }
    }
    expect([...csvs.values()]).toEqual([Buffer.concat(expected).toString()]);
  });

  it("splits the CSV where the schema changes, each file with its own header", async () => {
    const csvs = [...(await files(whole))];
    expect(csvs.map(([name]) => name)).toEqual(["devnode-1-trades-115-1-300.csv", "devnode-1-trades-116-301-500.csv"]);
    const headers = csvs.map(([, csv]) => csv.slice(0, csv.indexOf("\n")).split(","));
    expect(headers[1]?.slice(0, 34)).toEqual(headers[0]);
    expect(headers[1]).toHaveLength(40);
    for (const [, csv] of csvs) {
      expect(csv.split("synthetic_time,tx_hash,")).toHaveLength(2);
    }
  });

  it("names files as deployed nodes do where that is asked for", async () => {
    const deployed = { profile: "deployed" } as const;
    expect([...(await files({ ...whole, ...deployed })).keys()]).toEqual([
      "devnode-1-trades-115-000001-000300.csv",
      "devnode-1-trades-116-000301-000500.csv",
    ]);
    const early = createHistory({
      generated: generateHistory({ blocks: 10 }),
      chainId: "c",
      segments: 1,
      blocksPerSegment: 10,
      schemaVersions: [7],
    });
    const [part] = await parts({ table: "blocks", fromBlock: 1n, toBlock: 10n, ...deployed }, early);
    expect(Object.keys((await JSZip.loadAsync(part ?? "")).files)).toEqual(["c-blocks-007-000001-000010.csv"]);
  });

  it("gives parts of one mebibyte, the last one shorter, and makes no further rows when they are no longer taken", async () => {
    const { counts, history: read } = watched();
    const lengths = (await parts(wholeLarge, read)).map(({ length }) => length);
    expect(lengths.length).toBeGreaterThan(1);
    expect(new Set(lengths.slice(0, -1))).toEqual(new Set([CHUNK_BYTES]));
    expect(lengths.at(-1)).toBeLessThan(CHUNK_BYTES);
    const { counts: stopped, history: watching } = watched();
    for await (const part of writeArchive(watching, wholeLarge)) {
      expect(part).toHaveLength(CHUNK_BYTES);
      break;
    }
    const after = stopped.made;
    expect(after).toBeLessThan(counts.made);
    await standsStill(() => stopped.made);
    expect(stopped).toEqual({ made: after, active: 0 });
  });

  it("deflates, puts sizes into data descriptors, and writes no comment and no ZIP64 records", async () => {
    const archive = Buffer.concat(await parts({ ...whole, fromBlock: 101n, toBlock: 200n }));
    expect(archive.readUInt16LE(6) & 8).toBe(8);
    expect(archive.readUInt16LE(8)).toBe(8);
    expect([archive.readUInt32LE(14), archive.readUInt32LE(18), archive.readUInt32LE(22)]).toEqual([0, 0, 0]);
    const end = archive.subarray(-22);
    expect([end.readUInt32LE(0), end.readUInt16LE(20)]).toEqual([0x06054b50, 0]);
    const directory = end.readUInt32LE(16);
    expect(archive.readUInt32LE(directory)).toBe(0x02014b50);
    expect(archive.readUInt32LE(directory - 16)).toBe(0x08074b50);
    expect(directory + end.readUInt32LE(12)).toBe(archive.length - 22);
  });

  it("is a ZIP to other software", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-"));
    try {
      const path = join(folder, "archive.zip");
      await writeFile(path, Buffer.concat(await parts(whole)));
      for (const [command, ...options] of [["unzip"], ["python3", "-m", "zipfile"]] as const) {
        const { error, status } = spawnSync(command, [...options, "-t", path]);
        // A machine need not have both.
        expect(error === undefined ? status : 0).toBe(0);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("makes the same bytes of another history of the same blocks, and beside other exports", async () => {
    const other = made(100);
    const tables = ["trades", "orders", "markets"] as const;
    const options = tables.map((table) => ({ table, fromBlock: 201n, toBlock: 400n }));
    const beside = await Promise.all(options.map((each) => parts(each, other)));
    for (const [index, each] of options.entries()) {
      expect(Buffer.concat(beside[index] ?? []).equals(Buffer.concat(await parts(each)))).toBe(true);
    }
  });

  it("stops at once where its signal is aborted, even before its first part", async () => {
    const { counts, history: watching } = watched();
    const abort = new AbortController();
    const exported = parts({ ...wholeLarge, signal: abort.signal }, watching);
    await eventually(() => counts.made >= 3);
    const before = counts.made;
    abort.abort(new Error("nobody listens"));
    await expect(exported).rejects.toThrow("nobody listens");
    expect(counts.made).toBeLessThanOrEqual(before + 1);
    expect(counts.active).toBe(0);
  });

  it("fails when a later piece cannot be read", async () => {
    const { counts, history: failing } = watched(20);
    await expect(parts(wholeLarge, failing)).rejects.toThrow("the disk is gone");
    expect(counts).toEqual({ made: 20, active: 0 });
  });

  it("refuses a range off the segment boundaries", async () => {
    const refused = parts({ ...whole, fromBlock: 50n });
    await expect(refused).rejects.toThrow(RequestError);
    await expect(refused).rejects.toThrow("the nearest valid range is 1 to 500");
  });
});
