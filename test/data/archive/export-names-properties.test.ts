import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { archiveName, csvName, parseArchiveName, parseCsvName, tableNames } from "tradewire";

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

describe("parseArchiveName and parseCsvName", () => {
  it("read back every name that is made", () => {
    fc.assert(
      fc.property(exportName, (name) => {
        fc.pre(name.chainId !== "");
        expect(parseArchiveName(archiveName(name))).toEqual(name);
        expect(parseCsvName(csvName(name))).toEqual(name);
        expect(parseCsvName(csvName(name, "deployed"))).toEqual(name);
        expect(parseArchiveName(archiveName(name, "deployed"))).toEqual({ ...name, schemaVersion: undefined });
      }),
    );
  });

  it("refuse any other text without throwing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(parseArchiveName(text)).toBeUndefined();
      }),
    );
  });
});
