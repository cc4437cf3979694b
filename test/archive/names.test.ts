import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { archiveName, csvName, parseArchiveName, parseCsvName } from "../../src/archive/names.js";
import { tableNames } from "../../src/schema/tables.js";

const int64 = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const words = fc.constantFrom(...tableNames, "vega", "mainnet", "0011", "1", "", "Ω", "a b");
const exportName = fc.record(
  {
    chainId: fc.array(words, { minLength: 1, maxLength: 8 }).map((parts) => parts.join("-")),
    table: fc.constantFrom(...tableNames),
    schemaVersion: int64,
    fromBlock: int64,
    toBlock: int64,
  },
  { requiredKeys: ["chainId", "table", "fromBlock", "toBlock"] },
);

describe("archiveName and csvName", () => {
  it("write plain decimals, and the schema version only where there is one", () => {
    const name = { chainId: "vega-mainnet-0011", table: "market_data", fromBlock: 1n, toBlock: 3000n } as const;
    expect(archiveName(name)).toBe("vega-mainnet-0011-market_data-1-3000.zip");
    expect(archiveName({ ...name, schemaVersion: 2n })).toBe("vega-mainnet-0011-market_data-2-1-3000.zip");
    expect(csvName({ ...name, schemaVersion: 2n })).toBe("vega-mainnet-0011-market_data-2-1-3000.csv");
  });
});

describe("parseArchiveName and parseCsvName", () => {
  it("read back every name that is made", () => {
    fc.assert(
      fc.property(exportName, (name) => {
        fc.pre(name.chainId !== "");
        expect(parseArchiveName(archiveName(name))).toEqual(name);
        expect(parseCsvName(csvName(name))).toEqual(name);
      }),
    );
  });

  it("read numbers that are padded with zeros", () => {
    expect(parseCsvName("vega-mainnet-0011-trades-012-001001-002000.csv")).toEqual({
      chainId: "vega-mainnet-0011",
      table: "trades",
      schemaVersion: 12n,
      fromBlock: 1001n,
      toBlock: 2000n,
    });
  });

  it("take the rightmost table name for the table", () => {
    expect(parseArchiveName("a-trades-1-2-orders-3-4.zip")).toEqual({
      chainId: "a-trades-1-2",
      table: "orders",
      fromBlock: 3n,
      toBlock: 4n,
    });
  });

  it.each([
    ["another extension", "chain-trades-1-1000.csv"],
    ["no extension", "chain-trades-1-1000"],
    ["no chain", "-trades-1-1000.zip"],
    ["no such table", "chain-unspecified-1-1000.zip"],
    ["a table in capitals", "chain-TRADES-1-1000.zip"],
    ["one number", "chain-trades-1000.zip"],
    ["four numbers", "chain-trades-1-2-3-4.zip"],
    ["a signed number", "chain-trades--1-1000.zip"],
    ["digits of another script", "chain-trades-١-1000.zip"],
    ["a number beyond 64 bits", "chain-trades-1-9223372036854775808.zip"],
    ["a folder", "../chain-trades-1-1000.zip"],
    ["a folder of Windows", "..\\chain-trades-1-1000.zip"],
    ["a line break", "chain\n-trades-1-1000.zip"],
    ["a NUL", "chain\0-trades-1-1000.zip"],
    ["a control character of the second set", "chain\u0085-trades-1-1000.zip"],
    ["half a surrogate pair", "chain\ud83d-trades-1-1000.zip"],
    ["more than 255 bytes", `${"é".repeat(119)}-trades-1-1000.zip`],
    ["nothing", ""],
  ])("refuse %s", (_, name) => {
    expect(parseArchiveName(name)).toBeUndefined();
  });

  it("accept 255 bytes", () => {
    const chainId = `${"é".repeat(118)}x`;
    expect(parseArchiveName(`${chainId}-trades-1-1000.zip`)?.chainId).toBe(chainId);
  });

  it("refuse any other text without throwing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(parseArchiveName(text)).toBeUndefined();
      }),
    );
  });
});
