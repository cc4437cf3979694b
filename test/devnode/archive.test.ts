import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { partSize, type WriteArchiveOptions, writeArchive } from "../../src/devnode/archive.js";
import { type Database, openDatabase } from "../../src/devnode/database.js";
import { RequestError } from "../../src/errors/index.js";
import { tableNames } from "../../src/schema/tables.js";

const chainId = "devnode-1";
const whole: WriteArchiveOptions = { chainId, table: "trades", fromBlock: 1n, toBlock: 5000n };

let database: Database;
beforeAll(async () => {
  database = await openDatabase({ chainId, segments: 5, blocksPerSegment: 1000 });
});
afterAll(() => database.close());

async function parts(options: WriteArchiveOptions, from = database): Promise<Uint8Array[]> {
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

/** The real database, counting what is being copied. */
function watched(fail = Number.POSITIVE_INFINITY) {
  const counts = { started: 0, active: 0 };
  const copyTable: Database["copyTable"] = async (options) => {
    counts.started += 1;
    counts.active += 1;
    try {
      if (counts.started === fail) {
        throw new Error("the disk is gone");
      }
      return await database.copyTable(options);
    } finally {
      counts.active -= 1;
    }
  };
  return { counts, database: { ...database, copyTable } };
}

describe("writeArchive", () => {
  it.each(tableNames)("puts one CSV file of %s into the archive of one schema version", async (table) => {
    const csvs = await files({ chainId, table, fromBlock: 1001n, toBlock: 3000n });
    expect([...csvs.keys()]).toEqual([`devnode-1-${table}-1001-3000.csv`]);
    const span = { table, fromBlock: 1001n, toBlock: 3000n, databaseVersion: 1n, header: true };
    expect([...csvs.values()]).toEqual([new TextDecoder().decode(await database.copyTable(span))]);
  });

  it("splits the CSV where the schema changes, each file with its own header", async () => {
    const csvs = [...(await files(whole))];
    expect(csvs.map(([name]) => name)).toEqual(["devnode-1-trades-1-1-3000.csv", "devnode-1-trades-2-3001-5000.csv"]);
    const headers = csvs.map(([, csv]) => csv.slice(0, csv.indexOf("\n")).split(","));
    expect(headers[1]).toEqual([...(headers[0] ?? []), "buyer_buy_back_fee"]);
    for (const [, csv] of csvs) {
      expect(csv.split("synthetic_time,tx_hash,")).toHaveLength(2);
    }
  });

  it("gives parts of one mebibyte, the last one shorter", async () => {
    const lengths = (await parts(whole)).map(({ length }) => length);
    expect(lengths.length).toBeGreaterThan(1);
    expect(new Set(lengths.slice(0, -1))).toEqual(new Set([partSize]));
    expect(lengths.at(-1)).toBeLessThan(partSize);
  });

  it("deflates, puts sizes into data descriptors, and writes no comment and no ZIP64 records", async () => {
    const archive = Buffer.concat(await parts({ ...whole, fromBlock: 1001n, toBlock: 2000n }));
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

  it("makes the same bytes of another database", async () => {
    const other = await openDatabase({ chainId, segments: 5, blocksPerSegment: 1000 });
    try {
      for (const table of tableNames) {
        const options = { chainId, table, fromBlock: 2001n, toBlock: 4000n };
        expect(Buffer.concat(await parts(options)).equals(Buffer.concat(await parts(options, other)))).toBe(true);
      }
    } finally {
      await other.close();
    }
  });

  it("makes the same bytes beside other exports", async () => {
    const orders: WriteArchiveOptions = { ...whole, table: "orders" };
    const [a, b] = await Promise.all([parts(whole), parts(orders)]);
    expect(Buffer.concat(a).equals(Buffer.concat(await parts(whole)))).toBe(true);
    expect(Buffer.concat(b).equals(Buffer.concat(await parts(orders)))).toBe(true);
  });

  it("reads no further when its parts are no longer taken, and leaves nothing running", async () => {
    const { counts, database: watching } = watched();
    for await (const part of writeArchive(watching, whole)) {
      expect(part).toHaveLength(partSize);
      break;
    }
    expect(counts.started).toBeLessThan(5);
    expect(counts.active).toBe(0);
  });

  it("fails when a later segment cannot be read", async () => {
    const { counts, database: failing } = watched(4);
    await expect(parts(whole, failing)).rejects.toThrow("the disk is gone");
    expect(counts).toEqual({ started: 4, active: 0 });
  });

  it("refuses a range off the segment boundaries", async () => {
    const refused = parts({ ...whole, fromBlock: 500n });
    await expect(refused).rejects.toThrow(RequestError);
    await expect(refused).rejects.toThrow("the nearest valid range is 1 to 5000");
  });
});
