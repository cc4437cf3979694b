import { describe, expect, it } from "@jest/globals";
import { RequestError, type TableName, tableSchema } from "tradewire";
import type { Genesis } from "tradewire/devnode";
import { createHistory, csvHeader, generateHistory, type History } from "./inside.js";

const id = (digit: string) => digit.repeat(64);
const made = (genesis: Genesis, schemaVersions = [115, 115, 115, 116]) =>
  createHistory({
    generated: generateHistory({ blocks: 200 }),
    chainId: "devnode-1",
    segments: 4,
    blocksPerSegment: 50,
    schemaVersions,
    genesis,
  });

async function texts(history: History, table: TableName): Promise<string[]> {
  return Promise.all(
    history.segments().map(async (segment) => {
      const pieces = [];
      for await (const piece of history.read(table, segment)) {
        pieces.push(piece);
      }
      return Buffer.concat(pieces).toString();
    }),
  );
}

const checkpoint = { hash: "h", block_hash: "", block_height: 1, tx_hash: id("c"), seq_num: 1 };

describe("rows of one's own", () => {
  it("stand in place of the made-up ones, in the segments of their times", async () => {
    const history = made({
      checkpoints: [
        { ...checkpoint, hash: "late", vega_time: "2030-01-01T00:00:00Z" },
        { ...checkpoint, hash: "third", vega_time: "2023-10-19 08:01:42.5+00" },
        { ...checkpoint, hash: "second", vega_time: new Date("2023-10-19T08:01:35.123Z") },
        { ...checkpoint, hash: "early", vega_time: "2020-01-01T01:00:00+01:00" },
        { ...checkpoint, hash: "first of the second", vega_time: 1_697_702_451_403_869_000n },
        { ...checkpoint, hash: "tenth", seq_num: 10n, vega_time: "2020-01-01T00:00:00Z" },
        { ...checkpoint, hash: "ninth", seq_num: "9", vega_time: "2020-01-01T00:00:00" },
      ],
    });
    const rest = (time: string, number = 1) => `"",1,\\x${id("c")},${time},${number}\n`;
    expect(await texts(history, "checkpoints")).toEqual([
      `early,${rest("2020-01-01 00:00:00+00")}ninth,${rest("2020-01-01 00:00:00+00", 9)}tenth,${rest("2020-01-01 00:00:00+00", 10)}`,
      `first of the second,${rest("2023-10-19 08:00:51.403869+00")}second,${rest("2023-10-19 08:01:35.123+00")}`,
      `third,${rest("2023-10-19 08:01:42.5+00")}`,
      `late,${rest("2030-01-01 00:00:00+00")}`,
    ]);
    // The other tables stay as they are.
    expect((await texts(history, "blocks"))[0]).toMatch(/^2023-10-19 08:00:01\.007919\+00,1,/);
  });

  // https://www.postgresql.org/docs/current/datatype-numeric.html: what float8 and numeric have beside numbers; a numeric of
  // a precision has no infinity. https://www.postgresql.org/docs/current/datatype-json.html: null is a value of JSON.
  it.each([
    ["rewards", "percent_of_total", ["NaN", "Infinity", "-Infinity"]],
    ["positions", "realised_pnl", ["NaN", "Infinity", "-Infinity"]],
    ["liquidity_provisions", "fee", ["NaN"]],
    ["withdrawals", "ext", ["null"]],
  ] as const)("may hold what COPY writes of %s.%s", async (table, column, values) => {
    const { columns, key } = tableSchema(table, 116);
    const usual = { time: "2023-10-19T08:00:02Z", id: "0a", flag: "t", json: "{}", text: "x" };
    const rows = values.map((value, number) =>
      Object.fromEntries(
        columns.map(({ name, holds, values: known }) => {
          const fallback = known?.[0] ?? Object.entries(usual).find(([kind]) => kind === holds)?.[1] ?? "1";
          const apart = holds === "id" || holds === "whole" ? `0${number}` : fallback;
          const ofKey = key.includes(name) ? apart : fallback;
          return [name, name === column ? value : ofKey];
        }),
      ),
    );
    const [first = ""] = await texts(made({ [table]: rows }, [116, 116, 116, 116]), table);
    const place = columns.findIndex(({ name }) => name === column);
    const found = first
      .trimEnd()
      .split("\n")
      .map((line) => line.split(",")[place]);
    expect(found.sort()).toEqual([...values].sort());
  });

  it.each([
    ["positions", "realised_pnl", "nan"],
    ["liquidity_provisions", "fee", "Infinity"],
    ["trades", "price", "NaN"],
  ] as const)("may not hold what no column of the type of %s.%s takes: %s", (table, column, value) => {
    const row = { vega_time: "2023-10-19T08:00:02Z", [column]: value };
    expect(() => made({ [table]: [row] })).toThrow(`column ${column}: must be `);
  });

  it("may be CSV, as an export gives it", async () => {
    const header = "hash,block_hash,block_height,tx_hash,vega_time,seq_num\n";
    const row = `"a ""b"", c",,7,\\x${id("c")},2023-10-19 08:00:02.5+00,1\n`;
    const csv = `${header}${row.replace(",,", ',"",')}`;
    const expected = `"a ""b"", c","",7,\\x${id("c")},2023-10-19 08:00:02.5+00,1\n`;
    expect((await texts(made({ checkpoints: csv }), "checkpoints"))[0]).toBe(expected);
    expect((await texts(made({ checkpoints: Buffer.from(csv) }), "checkpoints"))[0]).toBe(expected);
    expect(() => made({ checkpoints: header + row })).toThrow(
      "genesis.checkpoints, row 1: column block_hash must not be NULL",
    );
  });

  it("take what an export of the same history gave", async () => {
    const usual = made({});
    for (const table of ["orders", "trades", "markets", "withdrawals", "rewards", "market_data"] as const) {
      const rows = await texts(usual, table);
      const own = made({ [table]: csvHeader(table, 116) + rows[3] });
      expect(await texts(own, table)).toEqual(["", "", "", rows[3]]);
    }
  });

  it("are written as PostgreSQL writes them", async () => {
    const order = {
      id: `\\x${id("A")}`,
      market_id: `0x${id("b")}`,
      party_id: id("d"),
      side: "SIDE_SELL",
      price: "007",
      size: 2n,
      remaining: 0,
      time_in_force: 1,
      type: "TYPE_LIMIT",
      status: "5",
      version: 1,
      batch_id: 1,
      created_at: "2023-10-19T08:00:01.1Z",
      tx_hash: id("c"),
      vega_time: "2023-10-19 08:00:01.10",
      seq_num: 1,
      post_only: true,
      reduce_only: "f",
      reference: "",
      lp_id: null,
    };
    const time = "2023-10-19 08:00:01.1+00";
    expect((await texts(made({ orders: [order] }), "orders"))[0]).toBe(
      `\\x${id("a")},\\x${id("b")},\\x${id("d")},2,7,2,0,1,1,5,"",,1,1,,,,${time},,,\\x${id("c")},${time},1,t,f,,,\n`,
    );
  });

  it("keep the numbers of JSON as they are written", async () => {
    const withdrawal = {
      id: id("1"),
      party_id: id("2"),
      asset: id("3"),
      status: "STATUS_OPEN",
      ref: "",
      foreign_tx_hash: "",
      created_timestamp: "2023-10-19 08:00:01Z",
      withdrawn_timestamp: "1970-01-01 00:00:00Z",
      tx_hash: id("4"),
      vega_time: "2023-10-19 08:00:01Z",
      ext: '{"bb": [1.0, 12345678901234567890, -2.50e2, "1.0", "a\\"1"], "a": {"c": null, "b": true}}',
    };
    const [csv] = await texts(made({ withdrawals: [withdrawal] }), "withdrawals");
    expect(csv).toContain(
      '"{""a"": {""b"": true, ""c"": null}, ""bb"": [1.0, 12345678901234567890, -250, ""1.0"", ""a\\""1""]}"',
    );
    for (const ext of ["{", '"\\u000012"', '"\\ud800"', "1 2"]) {
      expect(() => made({ withdrawals: [{ ...withdrawal, ext }] })).toThrow("column ext:");
    }
  });

  const good = { ...checkpoint, vega_time: "2023-10-19T08:00:02Z" };
  it.each<[Genesis | { orders: object[] }, string]>([
    [{ checkpoints: [good, { ...good, colour: "red" }] }, 'genesis.checkpoints, row 2: unknown column "colour"'],
    [{ checkpoints: [{ ...good, hash: null }] }, "genesis.checkpoints, row 1: column hash must not be NULL"],
    [
      { checkpoints: [{ ...good, seq_num: "1.5" }] },
      'row 1, column seq_num: must be a whole number in the range of the column (got "1.5")',
    ],
    [
      { checkpoints: [{ ...good, seq_num: 2n ** 63n }] },
      "row 1, column seq_num: must be a whole number in the range of the column",
    ],
    [
      { checkpoints: [{ ...good, seq_num: true }] },
      "column seq_num: must be a whole number in the range of the column (got true)",
    ],
    [{ checkpoints: [{ ...good, tx_hash: "xyz" }] }, 'column tx_hash: must be bytes as hex digits (got "xyz")'],
    [{ checkpoints: [{ ...good, hash: "a\0" }] }, "column hash: must be a string without U+0000"],
    [
      { checkpoints: [{ ...good, vega_time: "yesterday" }] },
      'column vega_time: must be a time, such as 2023-10-19T08:00:01Z (got "yesterday")',
    ],
    [
      { checkpoints: [{ ...good, vega_time: "2023-02-30T08:00:07Z" }] },
      'genesis.checkpoints, row 1, column vega_time: must be a time, such as 2023-10-19T08:00:01Z (got "2023-02-30T08:00:07Z")',
    ],
    [{ checkpoints: [{ ...good, vega_time: new Date(Number.NaN) }] }, "column vega_time: "],
    [{ checkpoints: [{ ...checkpoint }] }, "genesis.checkpoints, row 1: column vega_time must not be NULL"],
    [{ checkpoints: [good, { ...good, hash: "x" }] }, "row 2: another row has the same primary key"],
    [{ checkpoints: 'hash,block_hash\n"a' }, "genesis.checkpoints"],
    [{ nothing: [] } as Genesis, 'unknown table "nothing" in genesis'],
  ])("are refused where they do not fit: %j", (genesis, message) => {
    expect(() => made(genesis as Genesis)).toThrow(RequestError);
    expect(() => made(genesis as Genesis)).toThrow(message);
  });

  it("need the columns of their segment's version, and values in no others", async () => {
    const [usual] = (await texts(made({}), "trades")).map((csv) => csv.slice(0, csv.indexOf("\n")));
    expect((await texts(made({ trades: csvHeader("trades", 115) + usual }), "trades"))[0]).toBe(`${usual}\n`);
    expect(() => made({ trades: csvHeader("trades", 115) + usual }, [116])).toThrow(
      "genesis.trades, row 1: column buyer_buy_back_fee must not be NULL",
    );
    const newer = (added: string) => made({ trades: `${csvHeader("trades", 116)}${usual}${added}` });
    expect((await texts(newer(",,,,,,"), "trades"))[0]).toBe(`${usual}\n`);
    expect(() => newer(",,,3,4,5,6")).toThrow(
      "genesis.trades, row 1: column buyer_high_volume_maker_fee has a value, but blocks 1 to 50 have schema version 115, without this column",
    );
    expect(() => newer(",,,3,4,5,6")).toThrow("Set schemaVersions so that these blocks have version 116, or leave");
  });
});
