import { describe, expect, it } from "@jest/globals";
import { chainOf, fileNameFor } from "../../../src/data/history/given-names.js";

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
