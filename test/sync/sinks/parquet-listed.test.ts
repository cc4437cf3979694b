import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { parquetSink, type Sink } from "tradewire/sync";
import { batchOf } from "../../support/units.js";
import { ask, opening, withFolder } from "./support/units.js";

type Rows = Parameters<NonNullable<Sink["storeListed"]>>[1];

const TABLE = "tradewire_markets";
const pathIn = (folder: string) => join(folder, "out", "_tradewire", "listed", `${TABLE}.jsonl`);

const market = (id: string, code: string | null) => ({
  market_id: id,
  code,
  name: "A “market”\n",
  price_decimals: 5,
  size_decimals: -1,
  tick_size: "1",
  asset_id: null,
});

/** Stores what a node lists, as a sync of its own does. */
async function store(folder: string, rows: Rows): Promise<void> {
  await using sink = parquetSink(join(folder, "out"));
  await sink.open(opening([]));
  await sink.storeListed?.(TABLE, rows);
}

/** The versions of each market, as someone without this library reads them. */
async function versions(folder: string): Promise<unknown[][]> {
  const file = `read_json('${pathIn(folder)}')`;
  return await ask(`SELECT unhex(market_id), list(code ORDER BY valid_from), name, price_decimals, size_decimals, tick_size, asset_id
    FROM ${file} WHERE valid_from <= now() GROUP BY ALL ORDER BY ALL`);
}

const OTHERS = ["A “market”\n", "5", "-1", "1", null];

it("a folder keeps each version of what nodes list, once", async () => {
  await withFolder(async (folder) => {
    await store(folder, batchOf());
    expect(await readdir(join(folder, "out", "_tradewire"))).not.toContain("listed");
    await store(folder, batchOf(market("aa", "A"), market("bb", null), market("bb", null)));
    const first = await readFile(pathIn(folder));
    await store(folder, batchOf(market("bb", null), market("aa", "A")));
    expect(await readFile(pathIn(folder))).toEqual(first);
    await store(folder, batchOf(market("aa", "B")));
    await store(folder, batchOf(market("aa", "A"), market("cc", "C")));
    expect(await versions(folder)).toEqual([
      ["\\xAA", ["A", "B", "A"], ...OTHERS],
      ["\\xBB", [null], ...OTHERS],
      ["\\xCC", ["C"], ...OTHERS],
    ]);
  });
});

it("of several syncs that store at once, none loses what another one has stored", async () => {
  await withFolder(async (folder) => {
    const ids = ["aa", "bb", "cc", "dd"];
    await Promise.all(ids.map((id) => store(folder, batchOf(market(id, id)))));
    expect((await versions(folder)).map(([, codes]) => codes)).toEqual(ids.map((id) => [id]));
    expect(await readdir(join(folder, "out", "_tradewire", "pending"))).toEqual([]);
  });
});

it("a listing that fails leaves the one before", async () => {
  await withFolder(async (folder) => {
    await store(folder, batchOf(market("aa", "A")));
    const before = await readFile(pathIn(folder));
    async function* failing() {
      yield [market("aa", "B")];
      throw new RangeError("the node ended");
    }
    await expect(store(folder, failing())).rejects.toThrow("the node ended");
    expect(await readFile(pathIn(folder))).toEqual(before);
    expect(await readdir(join(folder, "out", "_tradewire", "pending"))).toEqual([]);
  });
});

it("a damaged file is named, and not replaced", async () => {
  await withFolder(async (folder) => {
    await store(folder, batchOf(market("aa", "A")));
    const damaged = (await readFile(pathIn(folder))).subarray(0, -9);
    await writeFile(pathIn(folder), damaged);
    await expect(store(folder, batchOf(market("aa", "B")))).rejects.toMatchObject({
      name: "SinkError",
      summary: expect.stringContaining(`${TABLE}.jsonl`),
      advice: "The file is damaged. Delete it: the next sync stores what a node lists again.",
    });
    expect(await readFile(pathIn(folder))).toEqual(damaged);
  });
});
