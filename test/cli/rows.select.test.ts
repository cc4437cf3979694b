import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { zipOf } from "../support/archives.js";
import { run } from "../support/command.js";
import { runs } from "../support/tier.js";

let folder: string;
const path = (name: string) => join(folder, name);
const save = async (name: string, files: Readonly<Record<string, string>>) => {
  const contents = Object.entries(files).map(([file, text]) => [file, Buffer.from(text)] as const);
  await writeFile(path(name), await zipOf(Object.fromEntries(contents)));
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-select-"));
  const heights = (from: number, to: number) =>
    Array.from(
      { length: to - from + 1 },
      (_, at) => `2024-01-01 00:00:${String(at + from).padStart(2, "0")}+00,${at + from}\n`,
    );
  await save("blocks.zip", {
    "chain-1-blocks-1-1-20.csv": `vega_time,height\n${heights(1, 20).join("")}`,
    "chain-1-blocks-2-21-40.csv": `vega_time,height\n${heights(21, 40).join("")}`,
  });
  await save("trades.zip", {
    "chain-1-trades-1-1-20.csv": "id,market_id,vega_time\n1,,2024-01-01 00:00:01+00\n",
    "chain-1-trades-2-21-40.csv": "id,market_id,vega_time\n2,\\x01,2024-01-01 00:00:21+00\n",
  });
  await save("wrong.zip", {
    "chain-1-trades-1-20.csv": "id,vega_time\n1,2024-01-01 00:00:01+00\n2,2024-01-01 00:00:01+01\n",
  });
  await save("unnamed.zip", { "mine.csv": "id,market_id,vega_time\n1,,2024-01-01 00:00:01+00\n" });
});
afterAll(() => rm(folder, { recursive: true }));

/** A value as COPY writes it. */
const field = (value: string | null) =>
  value === null ? "" : value === "" || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;

const ID = (digit: number) => `${digit}`.repeat(64);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 5 });
const text = fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a", " ", "é", "\\"), maxLength: 8 });
const micros = fc.integer({ min: 0, max: 3_000_000 });
const timeOf = (at: number) => {
  const decimals = String(at % 1_000_000)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `2024-01-01 00:00:0${Math.floor(at / 1_000_000)}${decimals === "" ? "" : `.${decimals}`}+00`;
};
const rowOf = fc.record({
  note: maybe(text),
  at: maybe(micros),
  market: maybe(fc.integer({ min: 1, max: 3 })),
  buyer: maybe(fc.integer({ min: 1, max: 3 })),
  seller: maybe(fc.integer({ min: 1, max: 3 })),
});

describe("tradewire rows with a selection", () => {
  it("lets exactly the bytes of the rows through that a filter by hand does", async () => {
    const options = fc.record(
      { since: micros, until: micros, market: fc.integer({ min: 1, max: 3 }), party: fc.integer({ min: 1, max: 3 }) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(rowOf, { maxLength: 40 }), options, async (rows, { since, until, market, party }) => {
        fc.pre(since === undefined || until === undefined || since < until);
        const id = (digit: number | null) => (digit === null ? null : `\\x${ID(digit)}`);
        const line = ({ note, at, market, buyer, seller }: (typeof rows)[number]) =>
          `${[note, at === null ? null : timeOf(at), id(market), id(buyer), id(seller)].map(field).join()}\n`;
        const header = "note,vega_time,market_id,buyer,seller\n";
        await save("made.zip", { "chain-1-trades-1-20.csv": header + rows.map(line).join("") });
        const hand = rows.filter(
          (row) =>
            (since === undefined || (row.at !== null && row.at >= since)) &&
            (until === undefined || (row.at !== null && row.at < until)) &&
            (market === undefined || row.market === market) &&
            (party === undefined || row.buyer === party || row.seller === party),
        );
        // A time between two microseconds selects from the next one on.
        const nanos = (at: number) =>
          String(BigInt(Date.UTC(2024, 0, 1)) * 1_000_000n + BigInt(at) * 1000n - BigInt(at % 1000));
        const args = [
          ...(since === undefined ? [] : ["--since", nanos(since)]),
          ...(until === undefined ? [] : ["--until", nanos(until)]),
          ...(market === undefined ? [] : ["--market", ID(market)]),
          ...(party === undefined ? [] : ["--party", ID(party)]),
        ];
        const outcome = await run(["rows", path("made.zip"), "--output", "csv", ...args]);
        const err = args.length === 0 ? "" : `Read ${rows.length} rows, printed ${hand.length}.\n`;
        expect(outcome).toEqual({ code: 0, out: header + hand.map(line).join(""), err });
      }),
      { numRuns: runs(300) },
    );
  });

  it.each([
    ["5:7", 3, 5],
    ["15:25", 11, 15],
    ["21:", 20, 21],
    ["-3:", 3, 38],
    [":-39", 2, 1],
    ["0.03k:1M", 11, 30],
    ["1:40", 40, 1],
  ])("selects blocks where rows have their heights: %s", async (blocks, count, first) => {
    const { code, out, err } = await run(["rows", path("blocks.zip"), "--blocks", blocks]);
    const heights = out
      .trim()
      .split("\n")
      .map((line) => Number(JSON.parse(line).height));
    expect([code, heights]).toEqual([0, Array.from({ length: count }, (_, at) => first + at)]);
    expect(err).toBe(blocks === "1:40" ? "" : `Read 40 rows, printed ${count}.\n`);
  });

  it("selects complete files of other tables, and skips those outside", async () => {
    const { out } = await run(["rows", path("trades.zip"), "--blocks", "21:", "--columns", "id"]);
    expect(out).toBe('{"id":"2"}\n');
  });

  it("says what it cannot select", async () => {
    for (const [file, args, code, message] of [
      [
        "trades.zip",
        ["--blocks", "5:"],
        2,
        'the rows of "chain-1-trades-1-1-20.csv" do not name their blocks, so blocks 5 to',
      ],
      ["unnamed.zip", ["--blocks", "5:"], 2, 'the name "mine.csv" does not contain the blocks of its rows\n'],
      ["unnamed.zip", ["--blocks", "-5:"], 2, "the last block of the archive is not known"],
      ["unnamed.zip", ["--market", ID(1)], 2, 'the name "mine.csv" does not contain the table of its rows\n'],
      ["trades.zip", ["--market", "BTC"], 2, '--market must be a complete ID of 64 hex digits (got "BTC")\n'],
      ["trades.zip", ["--market", "network"], 2, "--market must be a complete ID"],
      ["trades.zip", ["--party", "abcd"], 2, '--party must be a complete ID of 64 hex digits (got "abcd")\n'],
      ["trades.zip", ["--party", "network"], 1, '"chain-1-trades-1-1-20.csv" lacks the column buyer, by which'],
      ["blocks.zip", ["--market", ID(1)], 2, "--market does not apply to the table blocks"],
      ["trades.zip", ["--blocks", "9:7"], 2, "--from-block 9 is after --to-block 7\n"],
      ["trades.zip", ["--since", "2024-02-01", "--until", "2024-01-01"], 2, "the date range is empty"],
    ] as const) {
      const outcome = await run(["rows", path(file), ...args]);
      expect(outcome).toEqual({ code, out: "", err: expect.stringContaining(`tradewire: ${message}`) });
    }
    const wrong = await run(["rows", path("wrong.zip"), "--since", "2024-01-01", "--columns", "id"]);
    expect(wrong).toMatchObject({ code: 1, out: '{"id":"1"}\n' });
    expect(wrong.err).toContain('vega_time "2024-01-01 00:00:01+01" is not a time in UTC\n');
  });
});
