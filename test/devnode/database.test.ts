import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase } from "../../src/devnode/database.js";
import { tables } from "../../src/devnode/tables/index.js";
import { CanceledError, RequestError } from "../../src/errors/index.js";
import { type TableName, tableNames } from "../../src/schema/tables.js";

let database: Database;
beforeAll(async () => {
  database = await openDatabase({ chainId: "devnode-1", segments: 5, blocksPerSegment: 1000 });
});
afterAll(() => database.close());

async function copy(table: TableName, fromBlock: bigint, toBlock: bigint, databaseVersion = 1n): Promise<string> {
  const bytes = await database.copyTable({ table, fromBlock, toBlock, databaseVersion, header: true });
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

describe("listSegments", () => {
  it("gives contiguous segments, each knowing the one before", async () => {
    const segments = await database.listSegments();
    expect(
      segments.map(({ fromHeight, toHeight, databaseVersion }) => [fromHeight, toHeight, databaseVersion]),
    ).toEqual([
      [1n, 1000n, 1n],
      [1001n, 2000n, 1n],
      [2001n, 3000n, 1n],
      [3001n, 4000n, 2n],
      [4001n, 5000n, 2n],
    ]);
    expect(segments.map(({ previousId }) => previousId)).toEqual(["", ...segments.slice(0, -1).map(({ id }) => id)]);
    for (const { id, chainId } of segments) {
      expect(id).toMatch(/^[0-9a-f]{64}$/);
      expect(chainId).toBe("devnode-1");
    }
  });
});

describe.each(tableNames)("table %s", (table) => {
  const { columns, rowsPerBlock } = tables[table];

  it("has rows in every block, thousands in all", async () => {
    const { rows } = await database.pg.query(
      `SELECT count(*)::int AS rows, count(DISTINCT row_height)::int AS blocks FROM "${table}"`,
    );
    expect(rows).toEqual([{ rows: 5000 * rowsPerBlock, blocks: 5000 }]);
  });

  it("is written as CSV that PostgreSQL reads back to the same rows", async () => {
    const csv = await copy(table, 1001n, 2000n);
    const names = columns.filter(({ since }) => since === 1n).map(({ name }) => `"${name}"`);
    expect(csv.slice(0, csv.indexOf("\n"))).toBe(names.join(",").replaceAll('"', ""));
    const stored = `SELECT ${names.join(", ")} FROM "${table}" WHERE row_height BETWEEN 1001 AND 2000`;
    await database.pg.exec(`CREATE TEMP TABLE readback AS ${stored} LIMIT 0`);
    await database.pg.query("COPY readback FROM '/dev/blob' (FORMAT csv, HEADER match)", [], { blob: new Blob([csv]) });
    const { rows } = await database.pg.query(
      `SELECT (SELECT count(*)::int FROM readback) AS rows,
         (SELECT count(*)::int FROM (SELECT * FROM readback EXCEPT ALL ${stored}) AS difference) AS different`,
    );
    await database.pg.exec("DROP TABLE readback");
    expect(rows).toEqual([{ rows: 1000 * rowsPerBlock, different: 0 }]);
  });
});

describe("the CSV of free texts", () => {
  const texts: readonly TableName[] = ["trades", "orders", "ledger", "markets", "rewards", "deposits", "withdrawals"];

  it.each(texts)("has every rule of the format in %s", async (table) => {
    const csv = await copy(table, 1n, 1000n);
    for (const field of [
      "hedge",
      "",
      '""',
      '"buy low, sell high"',
      '"the ""safe"" side"',
      '"first line\nsecond line"',
      '"first line\r\nsecond line"',
      '"first line\rsecond line"',
      '"all at once: "",\r\n"""',
      '""""',
      "\\.",
      "  two spaces at both ends  ",
      '"Größe – déjà vu, señor"',
      "注文番号、第一",
      "🚀 to the moon 🦊",
      "طلب شراء رقم",
      "NULL",
      "\\N\ttab",
    ]) {
      expect([`,${field},`, `,${field}\n`].filter((text) => csv.includes(text))).not.toEqual([]);
    }
  });
});

describe("copyTable", () => {
  it("writes rows by block and then by their place in it", async () => {
    const rows = (await copy("checkpoints", 1n, 1000n)).trimEnd().split("\n").slice(1);
    expect(rows.map((row) => Number(row.split(",")[2]))).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
    const { rows: trades } = await database.pg.query("SELECT seq_num::int FROM trades WHERE row_height = 7");
    expect(trades).toEqual([{ seq_num: 1 }, { seq_num: 2 }]);
  });

  it("gives a table's new column with the version that has it, at the end", async () => {
    expect((await copy("trades", 3001n, 4000n, 2n)).split("\n")[0]).toMatch(
      /,seller_auction_batch,buyer_buy_back_fee$/,
    );
    expect((await copy("trades", 2001n, 3000n, 1n)).split("\n")[0]).toMatch(/,seller_auction_batch$/);
    const { rows } = await database.pg.query(
      `SELECT min(row_height)::int AS "from", max(row_height)::int AS "to" FROM trades WHERE buyer_buy_back_fee IS NOT NULL`,
    );
    expect(rows).toEqual([{ from: 3001, to: 5000 }]);
  });

  it("leaves the header out when asked, and writes nothing for blocks that are not there", async () => {
    const options = { table: "blocks", databaseVersion: 1n, header: false } as const;
    const rows = await database.copyTable({ ...options, fromBlock: 1n, toBlock: 1n });
    expect(new TextDecoder().decode(rows)).toMatch(/^2023-10-19 08:00:01\.007919\+00,1,\\x[0-9a-f]{64}\n$/);
    expect(await database.copyTable({ ...options, fromBlock: 5001n, toBlock: 6000n })).toHaveLength(0);
  });

  it("keeps apart what is copied at the same time", async () => {
    const copies = await Promise.all(tableNames.map((table) => copy(table, 1n, 20n)));
    for (const [index, table] of tableNames.entries()) {
      expect(copies[index]).toBe(await copy(table, 1n, 20n));
    }
  });
});

describe("openDatabase", () => {
  const good = { chainId: "devnode-1", segments: 1, blocksPerSegment: 10 };

  it.each([
    [{ ...good, segments: 0 }, "segments is 0"],
    [{ ...good, blocksPerSegment: 1.5 }, "blocksPerSegment is 1.5"],
    [{ ...good, chainId: "../chain" }, 'chainId "../chain" cannot be part of a file name'],
    [{ ...good, chainId: "" }, 'chainId "" cannot be part of a file name'],
  ])("refuses %j", async (options, summary) => {
    await expect(openDatabase(options)).rejects.toThrow(RequestError);
    await expect(openDatabase(options)).rejects.toMatchObject({ summary });
  });

  it("gives up when its signal is aborted, before and during the start", async () => {
    await expect(openDatabase({ ...good, signal: AbortSignal.abort() })).rejects.toThrow(CanceledError);
    const controller = new AbortController();
    const opening = openDatabase({ ...good, signal: controller.signal });
    controller.abort();
    await expect(opening).rejects.toThrow(CanceledError);
  });
});
