import { describe, expect, it } from "@jest/globals";
import { openArchive, RequestError, type TypedRow, tableSchema } from "tradewire";
import { streamOf } from "../../support/archive-outcome.js";
import { archiveOf, tableCsv } from "../../support/table-csv.js";
import { taken } from "../../support/taken.js";

describe("typed rows", () => {
  it("have the types of their columns", async () => {
    const rows = [{ side: "2", reason: null, expires_at: "0001-01-01 00:00:00+00", size: "9223372036854775807" }];
    const archive = archiveOf({ "c-orders-006-000001-000010.csv": await tableCsv("orders", 6, rows) });
    const { values, error } = await taken(openArchive(archive).rows({ typed: true, table: "orders" }));
    expect(error).toBeUndefined();
    const [order] = values;
    expect(order).toEqual({
      id: "0aff",
      market_id: "0aff",
      party_id: "0aff",
      side: "SIDE_SELL",
      price: 12n,
      size: 9223372036854775807n,
      remaining: 12n,
      time_in_force: "TIME_IN_FORCE_GTC",
      type: "TYPE_LIMIT",
      status: "STATUS_ACTIVE",
      reference: "",
      reason: null,
      version: 12n,
      batch_id: 12n,
      pegged_offset: 12n,
      pegged_reference: "PEGGED_REFERENCE_MID",
      lp_id: "0aff",
      created_at: "2023-10-19T08:13:00.123456Z",
      updated_at: "2023-10-19T08:13:00.123456Z",
      expires_at: "0001-01-01T00:00:00.000000Z",
      tx_hash: "0aff",
      vega_time: "2023-10-19T08:13:00.123456Z",
      seq_num: 12n,
      post_only: true,
      reduce_only: true,
      reserved_remaining: 12n,
      peak_size: 12n,
      minimum_visible_size: 12n,
    } satisfies TypedRow<"orders">);
    expect(Object.keys(order ?? {})).toEqual(tableSchema("orders", 6).columns.map(({ name }) => name));
  });

  it("are typed at compile time where the table is known", async () => {
    const archive = archiveOf({
      "c-rewards-74-1-10.csv": await tableCsv("rewards", 74, [{ percent_of_total: "1e-05" }]),
    });
    for await (const reward of openArchive(archive).rows({ typed: true, table: "rewards" })) {
      const sum: bigint = reward.epoch_id + (reward.amount ?? 0n) + (reward.quantum_amount ?? 0n);
      const percent: number | null = reward.percent_of_total;
      // @ts-expect-error It came with version 51, so that older rows lack it.
      const locked: bigint = reward.locked_until_epoch_id;
      expect([sum, percent, locked]).toEqual([36n, 0.00001, 12n]);
    }
    const orders = archiveOf({ "c-orders-6-1-10.csv": await tableCsv("orders", 6, [{}]) });
    for await (const { side } of openArchive(orders).rows({ typed: true, table: "orders" })) {
      // @ts-expect-error There is no such side.
      expect(side === "SIDE_SIDEWAYS").toBe(false);
    }
  });

  it("come from files too, as records and as batches", async () => {
    const content = await tableCsv("blocks", 1, [{ height: "1" }, { height: "2" }]);
    const archive = archiveOf({ "c-blocks-1-1-2.csv": content });
    const records: unknown[] = [];
    for await (const file of openArchive(archive).files()) {
      records.push(...(await taken(file.rows({ typed: true }))).values);
    }
    const time = "2023-10-19T08:13:00.123456Z";
    expect(records).toEqual([
      { vega_time: time, height: 1n, hash: "0aff" },
      { vega_time: time, height: 2n, hash: "0aff" },
    ]);
    for await (const file of openArchive(archive).files()) {
      const batches = (await taken(file.batches({ typed: true }))).values;
      expect(batches[0]?.columns).toEqual(["vega_time", "height", "hash"]);
      expect(batches.flatMap(({ rows }) => rows)).toEqual([
        [time, 1n, "0aff"],
        [time, 2n, "0aff"],
      ]);
    }
  });

  it.each(["bytes", "a stream"])("have the columns of all files with `union`, from %s", async (way) => {
    const archive = archiveOf({
      "c-rewards-72-1-10.csv": await tableCsv("rewards", 72, [{}]),
      "c-rewards-73-11-20.csv": await tableCsv("rewards", 73, [{ quantum_amount: "5" }]),
    });
    const opened = openArchive(way === "bytes" ? archive : streamOf(archive));
    const { values } = await taken(opened.rows({ typed: true, table: "rewards", columns: "union" }));
    expect(values.map(({ quantum_amount }) => quantum_amount)).toEqual([null, 5n]);
    expect(values.map((value) => Object.keys(value).length)).toEqual([13, 13]);
  });

  it("take the types from the header where the file's name has no version", async () => {
    const archive = archiveOf({ "c-orders-1-10.csv": "initial_peak_size,peak_size,side\n1,2,1\n" });
    const { values } = await taken(openArchive(archive).rows({ typed: true }));
    expect(values).toEqual([{ initial_peak_size: 1n, peak_size: 2n, side: "SIDE_BUY" }]);
  });

  it("leave rows that are not asked for typed as they are", async () => {
    const archive = archiveOf({ "c-blocks-1-2.csv": "height\n1\n" });
    expect((await taken(openArchive(archive).rows({ typed: false }))).values).toEqual([{ height: "1" }]);
    expect((await taken(openArchive(archive).rows())).values).toEqual([{ height: "1" }]);
  });
});

describe("the table of typed rows", () => {
  const other = archiveOf({ "data.csv": "height\n7\n" });

  it("is told where the file's name does not tell it", async () => {
    expect((await taken(openArchive(other).rows({ typed: true, table: "blocks" }))).values).toEqual([{ height: 7n }]);
    const { values, error } = await taken(openArchive(other).rows({ typed: true }));
    expect([values, error]).toEqual([[], expect.any(RequestError)]);
    expect(error).toMatchObject({
      message: expect.stringMatching(/"data\.csv" does not contain.*\n.*table: "trades"/),
    });
  });

  it("is that of the file's name", async () => {
    const archive = archiveOf({ "c-blocks-1-2.csv": "height\n1\n" });
    const { error } = await taken(openArchive(archive).rows({ typed: true, table: "trades" }));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ message: expect.stringContaining("contains the table blocks, not trades") });
  });
});
