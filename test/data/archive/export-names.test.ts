import { describe, expect, it } from "@jest/globals";
import { archiveName, csvName, parseArchiveName, parseCsvName } from "tradewire";

describe("archiveName and csvName", () => {
  it("write plain decimals, and the schema version only where there is one", () => {
    const name = { chainId: "vega-mainnet-0011", table: "market_data", fromBlock: 1n, toBlock: 3000n } as const;
    expect(archiveName(name)).toBe("vega-mainnet-0011-market_data-1-3000.zip");
    expect(archiveName({ ...name, schemaVersion: 2n })).toBe("vega-mainnet-0011-market_data-2-1-3000.zip");
    expect(csvName({ ...name, schemaVersion: 2n })).toBe("vega-mainnet-0011-market_data-2-1-3000.csv");
  });

  it("write padded numbers as deployed nodes do, which put the schema version into no archive's name", () => {
    const name = { chainId: "vega-1", table: "trades", schemaVersion: 2n, fromBlock: 1n, toBlock: 300n } as const;
    expect(archiveName(name, "deployed")).toBe("vega-1-trades-000001-000300.zip");
    expect(csvName(name, "deployed")).toBe("vega-1-trades-002-000001-000300.csv");
    expect(csvName({ ...name, schemaVersion: undefined }, "deployed")).toBe("vega-1-trades-000001-000300.csv");
    const large = { ...name, schemaVersion: 1234n, fromBlock: 1_234_501n, toBlock: 1_234_800n };
    expect(csvName(large, "deployed")).toBe("vega-1-trades-1234-1234501-1234800.csv");
  });
});

describe("parseArchiveName and parseCsvName", () => {
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
    ["a first block beyond 64 bits", "chain-trades-9223372036854775808-1.zip"],
    ["a schema version beyond 64 bits", "chain-trades-9223372036854775808-1-1000.zip"],
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

  it("accept numbers of 64 bits", () => {
    const most = 2n ** 63n - 1n;
    expect(parseArchiveName(`chain-trades-${most}-${most}-${most}.zip`)).toEqual({
      chainId: "chain",
      table: "trades",
      schemaVersion: most,
      fromBlock: most,
      toBlock: most,
    });
  });

  it("accept 255 bytes", () => {
    const chainId = `${"é".repeat(118)}x`;
    expect(parseArchiveName(`${chainId}-trades-1-1000.zip`)?.chainId).toBe(chainId);
  });
});
