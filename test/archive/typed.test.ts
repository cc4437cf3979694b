import { afterEach, describe, expect, it, jest } from "@jest/globals";
import {
  openArchive,
  ProtocolError,
  RequestError,
  type TableName,
  type TypedRow,
  tableSchema,
  type UnknownPart,
} from "../../src/index.js";
import { streamOf } from "../support/archive-outcome.js";
import { encoded } from "../support/csv.js";
import { rawZip } from "../support/raw-zip.js";
import { taken } from "../support/taken.js";

/** A text of each meaning, as COPY writes it. */
const TEXTS = {
  time: "2023-10-19 08:13:00.123456+00",
  id: "\\x0aff",
  whole: "12",
  decimal: "-1.50",
  number: "0.25",
  flag: "t",
  text: "",
  json: '{"a": 1}',
  code: "1",
};

/** The CSV of a table: each row has plain values, but for those that are given. */
async function tableCsv(
  table: TableName,
  version: number,
  rows: readonly Readonly<Record<string, string | null>>[],
  { without = [], more = [] }: { readonly without?: readonly string[]; readonly more?: readonly string[] } = {},
): Promise<Buffer> {
  const known = tableSchema(table, version).columns.filter(({ name }) => !without.includes(name));
  const plain = known.map(
    (column) => [column.name, column.holds === "enum" ? (column.values[0] ?? "") : TEXTS[column.holds]] as const,
  );
  const all = [...plain, ...more.map((name) => [name, "x"] as const)];
  return encoded({
    columns: all.map(([name]) => name),
    rows: rows.map((given) => all.map(([name, text]) => (name in given ? (given[name] ?? null) : text))),
  });
}

const archiveOf = (files: Readonly<Record<string, Buffer | string>>) =>
  rawZip(Object.entries(files).map(([name, content]) => ({ name, content })));

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
    expect(error).toMatchObject({ message: expect.stringMatching(/"data.csv" does not tell.*\n.*table: "trades"/) });
  });

  it("is that of the file's name", async () => {
    const archive = archiveOf({ "c-blocks-1-2.csv": "height\n1\n" });
    const { error } = await taken(openArchive(archive).rows({ typed: true, table: "trades" }));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ message: expect.stringContaining("is of the table blocks, not of trades") });
  });
});

describe("a value that does not fit its type", () => {
  const cases: [TableName, string, string | null, RegExp][] = [
    ["orders", "size", "9223372036854775808", /"9223372036854775808".*\nExpected a whole number of 64 bits \(int8\)/],
    ["orders", "size", "", /"".*\nExpected a whole number of 64 bits/],
    ["orders", "size", " 1", /" 1"/],
    ["orders", "size", "0x10", /"0x10"/],
    ["orders", "size", "1.0", /"1.0"/],
    ["orders", "version", "-2147483649", /"-2147483649".*\n.*32 bits/],
    ["orders", "side", "32768", /"32768".*\n.*16 bits/],
    ["orders", "side", "SIDE_BUY", /"SIDE_BUY".*\n.*16 bits/],
    ["orders", "price", "9".repeat(1001), /"9{80}…".*\n.*1000 digits/],
    ["orders", "price", "NaN", /"NaN"/],
    ["orders", "post_only", "true", /"true".*\nExpected t or f/],
    ["orders", "id", "\\x0A", /"\\\\x0A".*\n.*lower-case hex/],
    ["orders", "id", "0a", /"0a"/],
    ["orders", "id", "\\x0", /"\\\\x0"/],
    ["orders", "vega_time", "2023-10-19 08:13:00.123456+02", /.*\+02".*\n.*in UTC/],
    ["orders", "vega_time", "2023-10-19 08:13:00.1234567+00", /.*\n.*in UTC/],
    ["orders", "vega_time", "2023-13-19 08:13:00+00", /"2023-13-19/],
    ["orders", "vega_time", "infinity", /"infinity".*\n.*years 1 to 9999/],
    ["orders", "vega_time", "0044-03-15 00:00:00+00 BC", /.*BC".*\n.*years 1 to 9999/],
    ["orders", "vega_time", "10000-01-01 00:00:00+00", /"10000-.*\n.*years 1 to 9999/],
    ["orders", "market_id", null, /NULL does not fit.*\n/],
    ["positions", "loss", "1e5", /"1e5".*\nExpected a decimal number/],
    ["rewards", "percent_of_total", "1,5", /"1,5".*\nExpected a floating-point number/],
  ];

  it.each(cases)("of %s.%s: %j, is told with its place", async (table, column, text, expected) => {
    const good = {};
    const content = await tableCsv(table, 1, [good, good, { [column]: text }, good]);
    const name = `c-${table}-1-1-10.csv`;
    const { values, error } = await taken(openArchive(archiveOf({ [name]: content })).rows({ typed: true }));
    expect(values).toHaveLength(2);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      code: 15, // DATA_LOSS
      message: expect.stringMatching(new RegExp(`^"${name}", row 3, column ${column}: ${expected.source}`)),
    });
  });

  it("closes the source", async () => {
    let closed = 0;
    const content = await tableCsv("blocks", 1, [{ height: "x" }]);
    const bytes = archiveOf({ "c-blocks-1-1-10.csv": content });
    const opened = openArchive(streamOf(bytes), { onClose: () => (closed += 1) });
    expect((await taken(opened.rows({ typed: true }))).error).toBeInstanceOf(ProtocolError);
    expect(closed).toBe(1);
  });
});

describe("a column that the version has and the file lacks", () => {
  it("is an error", async () => {
    const content = await tableCsv("blocks", 1, [{}], { without: ["height", "hash"] });
    const { error } = await taken(openArchive(archiveOf({ "c-blocks-001-1-10.csv": content })).rows({ typed: true }));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      message: expect.stringContaining("lacks 2 columns that version 1 of blocks has: height, hash"),
    });
  });

  it.each(["117", "0"])("is none where the version is %s, which is not known", async (version) => {
    const archive = archiveOf({ [`c-blocks-${version}-1-10.csv`]: "hash\n\\x01\n" });
    expect((await taken(openArchive(archive).rows({ typed: true }))).values).toEqual([{ hash: "01" }]);
  });
});

describe("what only a newer node knows", () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });
  const name = "c-market_data-117-1-10.csv";
  const rows = [
    { market_state: "STATE_ACTIVE" },
    { market_state: "STATE_ASLEEP" },
    { market_state: "STATE_ASLEEP", new_column: null },
  ];
  const content = () => tableCsv("market_data", 116, rows, { more: ["new_column"] });
  const kept = [
    { market_state: "STATE_ACTIVE", new_column: "x", auction_start: 12n },
    { market_state: "STATE_ASLEEP", new_column: "x", auction_start: 12n },
    { market_state: "STATE_ASLEEP", new_column: null, auction_start: 12n },
  ];

  it("is kept as it came, and told once for each column", async () => {
    const told: UnknownPart[] = [];
    const onUnknown = (unknown: UnknownPart) => told.push(unknown);
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const archive = archiveOf({ [name]: await content() });
    const { values } = await taken(openArchive(archive).rows({ typed: true, onUnknown }));
    expect(values).toMatchObject(kept);
    expect(told).toEqual([
      { file: name, table: "market_data", column: "new_column" },
      { file: name, table: "market_data", column: "market_state", value: "STATE_ASLEEP" },
    ]);
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it("is a number where a code has no name", async () => {
    const told: UnknownPart[] = [];
    const archive = archiveOf({ "c-trades-1-10.csv": "aggressor,type\n9,1\n" });
    const typed = openArchive(archive).rows({ typed: true, onUnknown: (unknown) => told.push(unknown) });
    expect((await taken(typed)).values).toEqual([{ aggressor: 9n, type: "TYPE_DEFAULT" }]);
    expect(told).toEqual([{ file: "c-trades-1-10.csv", table: "trades", column: "aggressor", value: "9" }]);
  });

  it("is a warning of the process, once for each column of a table", async () => {
    const archive = archiveOf({ [name]: await content() });
    const emitWarning = jest.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    for (let time = 0; time < 2; time += 1) {
      expect((await taken(openArchive(archive).rows({ typed: true }))).values).toMatchObject(kept);
    }
    const kind = "TradewireWarning";
    expect(emitWarning.mock.calls).toEqual([
      [`the column "new_column" of market_data is not known and is kept as it came ("${name}")`, kind],
      [
        `"STATE_ASLEEP" is not known in the column "market_state" of market_data and is kept as it came ("${name}")`,
        kind,
      ],
    ]);
  });

  it("ends the reading where the hook throws", async () => {
    const archive = archiveOf({ [name]: await content() });
    const refuse = ({ column, value }: UnknownPart) => {
      if (value !== undefined) {
        throw new Error(`unknown: ${column} ${value}`);
      }
    };
    const { values, error } = await taken(openArchive(archive).rows({ typed: true, onUnknown: refuse }));
    expect(values).toHaveLength(1);
    expect(error).toEqual(new Error("unknown: market_state STATE_ASLEEP"));
  });
});
