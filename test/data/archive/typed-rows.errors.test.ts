import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { openArchive, ProtocolError, type TableName, type UnknownPart } from "tradewire";
import { streamOf } from "../../support/archive-outcome.js";
import { archiveOf, tableCsv } from "../../support/table-csv.js";
import { taken } from "../../support/taken.js";
import { takeWarnings } from "../../support/warnings.js";

describe("a value that does not fit its type", () => {
  const cases: [TableName, string, string | null, RegExp][] = [
    ["orders", "size", "9223372036854775808", /"9223372036854775808".*\nExpected a 64-bit integer \(int8\)/],
    ["orders", "size", "", /"".*\nExpected a 64-bit integer/],
    ["orders", "size", " 1", /" 1"/],
    ["orders", "size", "0x10", /"0x10"/],
    ["orders", "size", "1.0", /"1.0"/],
    ["orders", "version", "-2147483649", /"-2147483649".*\n.*32-bit/],
    ["orders", "side", "32768", /"32768".*\n.*16-bit/],
    ["orders", "side", "SIDE_BUY", /"SIDE_BUY".*\n.*16-bit/],
    ["orders", "price", "9".repeat(1001), /"9{80}…".*\n.*1000 digits/],
    ["orders", "price", "NaN", /"NaN"/],
    ["orders", "post_only", "true", /"true".*\nExpected t or f/],
    ["orders", "id", "\\x0A", /"\\\\x0A".*\n.*lowercase hex/],
    ["orders", "id", "0a", /"0a"/],
    ["orders", "id", "\\x0", /"\\\\x0"/],
    ["orders", "vega_time", "2023-10-19 08:13:00.123456+02", /.*\+02".*\n.*UTC/],
    ["orders", "vega_time", "2023-10-19 08:13:00.1234567+00", /.*\n.*UTC/],
    ["orders", "vega_time", "2023-13-19 08:13:00+00", /"2023-13-19/],
    ["orders", "vega_time", "infinity", /"infinity".*\n.*years 1 to 9999/],
    ["orders", "vega_time", "0044-03-15 00:00:00+00 BC", /.*BC".*\n.*years 1 to 9999/],
    ["orders", "vega_time", "10000-01-01 00:00:00+00", /"10000-.*\n.*years 1 to 9999/],
    ["orders", "market_id", null, /NULL for the type.*\n/],
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
      message: expect.stringMatching(
        new RegExp(`^"${name}", row 3, column ${column}: invalid value ${expected.source}`),
      ),
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
      message: expect.stringContaining("lacks 2 columns of blocks, schema version 1: height, hash"),
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
    using warnings = takeWarnings();
    const archive = archiveOf({ [name]: await content() });
    const { values } = await taken(openArchive(archive).rows({ typed: true, onUnknown }));
    expect(values).toMatchObject(kept);
    expect(told).toEqual([
      { file: name, table: "market_data", column: "new_column" },
      { file: name, table: "market_data", column: "market_state", value: "STATE_ASLEEP" },
    ]);
    await turn();
    expect(warnings.told).toEqual([]);
  });

  it("is told of 1,000 columns of a file at most", async () => {
    const told: UnknownPart[] = [];
    const names = Array.from({ length: 1001 }, (_, index) => `c${index}`);
    const archive = archiveOf({ "c-blocks-1-2.csv": `height,${names.join(",")}\n1${",".repeat(names.length)}\n` });
    const typed = openArchive(archive).rows({ typed: true, onUnknown: (unknown) => told.push(unknown) });
    expect((await taken(typed)).values).toMatchObject([{ height: 1n, c0: null, c1000: null }]);
    expect(told).toHaveLength(1000);
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
    using warnings = takeWarnings();
    for (let time = 0; time < 2; time += 1) {
      expect((await taken(openArchive(archive).rows({ typed: true }))).values).toMatchObject(kept);
    }
    await turn();
    expect(warnings.told).toEqual([
      `TradewireWarning: the column "new_column" of market_data is unknown and is returned unchanged ("${name}")`,
      `TradewireWarning: the value "STATE_ASLEEP" in the column "market_state" of market_data is unknown and is returned unchanged ("${name}")`,
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
