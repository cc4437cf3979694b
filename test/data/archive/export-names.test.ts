import { describe, expect, it } from "@jest/globals";
import { archiveName, csvName, parseArchiveName, parseCsvName } from "tradewire";
import { chainOf, fileNameFor } from "../../../src/data/history/given-names.js";

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

describe("fileNameFor", () => {
  const exported = { table: "trades", fromBlock: 1n, toBlock: 3000n } as const;
  const own = "network-trades-1-3000.zip";
  const named = (disposition: string) => fileNameFor(new Headers({ "content-disposition": disposition }), exported);

  it.each([
    ["attachment;filename=vega-mainnet-0011-trades-1-3000.zip", "vega-mainnet-0011-trades-1-3000.zip"],
    ['attachment; filename="vega-trades-2-1-3000.zip"', "vega-trades-2-1-3000.zip"],
    ["attachment; filename*=UTF-8''caf%C3%A9-trades-1-3000.zip", "café-trades-1-3000.zip"],
    ["attachment;filename=vega-trades-000001-003000.zip", "vega-trades-000001-003000.zip"],
  ])("takes the node's name: %s", (disposition, name) => {
    expect(named(disposition)).toBe(name);
  });

  it.each([
    ["a way out of the folder", 'attachment; filename="../x-trades-1-3000.zip"'],
    ["another way out", "attachment; filename*=UTF-8''..%2Fx-trades-1-3000.zip"],
    ["an absolute path", 'attachment; filename="/etc/x-trades-1-3000.zip"'],
    ["a folder in it", 'attachment; filename="a/b-trades-1-3000.zip"'],
    ["a folder of Windows in it", "attachment; filename*=UTF-8''a%5Cb-trades-1-3000.zip"],
    ["a line feed in it", "attachment; filename*=UTF-8''a%0Ab-trades-1-3000.zip"],
    ["an escape sequence in it", "attachment; filename*=UTF-8''a%1B%5B2Jb-trades-1-3000.zip"],
    ["a NUL in it", "attachment; filename*=UTF-8''a%00b-trades-1-3000.zip"],
    ["300 bytes", `attachment; filename="${"x".repeat(283)}-trades-1-3000.zip"`],
    ["another table", "attachment;filename=vega-orders-1-3000.zip"],
    ["another range", "attachment;filename=vega-trades-1-2000.zip"],
    ["another extension", "attachment;filename=vega-trades-1-3000.exe"],
    ["a dot before it, which hides it", "attachment;filename=.vega-trades-1-3000.zip"],
    ["the look of an option", "attachment;filename=-vega-trades-1-3000.zip"],
    ["a part that is turned", "attachment; filename*=UTF-8''ve%E2%80%AEga-trades-1-3000.zip"],
    ["a line separator", "attachment; filename*=UTF-8''ve%E2%80%A8ga-trades-1-3000.zip"],
    ["a paragraph separator", "attachment; filename*=UTF-8''ve%E2%80%A9ga-trades-1-3000.zip"],
    ["another first block", "attachment;filename=vega-trades-2-3000.zip"],
    ["no name", "attachment"],
    ["no sense", ";;;===\"'"],
  ])("makes one of its own where the node's has %s", (_, disposition) => {
    expect(named(disposition)).toBe(own);
  });

  it("makes one of its own where the node gives none", () => {
    expect(fileNameFor(new Headers(), exported)).toBe(own);
  });
});

describe("chainOf", () => {
  const exported = { table: "trades", fromBlock: 1n, toBlock: 3000n } as const;
  const chain = (disposition: string) => chainOf(new Headers({ "content-disposition": disposition }), exported);

  it("is the chain in the node's name for the archive", () => {
    expect(chain("attachment;filename=vega-mainnet-0011-trades-1-3000.zip")).toBe("vega-mainnet-0011");
  });

  it("is unknown where the node does not name the archive so", () => {
    for (const disposition of ["attachment", "attachment;filename=vega-trades-1-2000.zip", ";;;"]) {
      expect(chain(disposition)).toBeUndefined();
    }
    expect(chainOf(new Headers(), exported)).toBeUndefined();
  });
});

it.each(["-rf-trades-1-2.zip", ".hidden-trades-1-2.zip", "a\u202eb-trades-1-2.zip", "a\u200bb-trades-1-2.zip"])(
  "an archive is not saved as %j",
  (name) => {
    const header = new Headers({ "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(name)}` });
    const exported = { table: "trades", fromBlock: 1n, toBlock: 2n } as const;
    expect(fileNameFor(header, exported)).toBe("network-trades-1-2.zip");
    const good = new Headers({ "content-disposition": "attachment;filename=a-trades-1-2.zip" });
    expect(fileNameFor(good, exported)).toBe("a-trades-1-2.zip");
  },
);
