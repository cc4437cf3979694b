import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { NodeError, TransactionError } from "tradewire";
import { fileNameFor } from "../../src/archive/names.js";
import { errorText, json } from "../../src/cli/output.js";
import { createRowFormat } from "../../src/cli/row-format.js";
import { run } from "../support/command.js";
import { serveNode, type TestNode } from "../support/node.js";

/** Controls of both sets, marks of direction, and characters without width. */
const SNEAKY = [0x9b, 0x85, 0x7f, 0x202e, 0x2066, 0x200e, 0x200f, 0x61c, 0x200b, 0x200d, 0xfeff, 0x2028, 0xe0041].map(
  (code) => String.fromCodePoint(code),
);
const RAW = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0041}]/u;

describe("what a node sends", () => {
  let node: TestNode;
  const key = `key${SNEAKY.join("x")}`;
  const message = "m".repeat(500_000);
  beforeAll(async () => {
    node = await serveNode({
      listNetworkParameters: () => ({
        networkParameters: { edges: [{ cursor: "c", node: { key, value: "v" } }], pageInfo: {} },
      }),
      getStopOrder: () => {
        throw new ConnectError(message, Code.NotFound);
      },
    });
  });
  afterAll(() => node.close());

  it.each([[[]], [["--json"]], [["--format", "jsonl"]]])("is shown escaped: params %j", async (options) => {
    const outcome = await run(["params", "--transport", "rest", "--rest-url", node.restUrl, ...options]);
    expect(outcome.code).toBe(0);
    expect(outcome.out).toContain("key");
    expect(outcome.out).not.toMatch(RAW);
    if (options.includes("--json")) {
      expect(JSON.parse(outcome.out)).toEqual({ networkParameters: [{ key, value: "v" }] });
    }
  });

  it.each([[[]], [["--json"]]])("is cut in errors: stop-order %j", async (options) => {
    const outcome = await run(["stop-order", "0a", "--transport", "rest", "--rest-url", node.restUrl, ...options]);
    expect(outcome.code).toBe(1);
    expect(outcome.out.length + outcome.err.length).toBeLessThan(5000);
    expect(outcome.out + outcome.err).toContain("mmm…");
  });
});

it("rows as lines of JSON are escaped, and mean the same", () => {
  const line = createRowFormat("jsonl", "").text(["a"], [[SNEAKY.join("")]]);
  expect(line).not.toMatch(RAW);
  expect(JSON.parse(line)).toEqual({ a: SNEAKY.join("") });
});

it("errors are cut: their message, their details, and what the network said", () => {
  const long = "m".repeat(10 * 1024 * 1024);
  const details = [{ "@type": "x/y", long }];
  expect(errorText(new NodeError({ code: Code.Internal, message: long, details })).length).toBeLessThan(5000);
  const result = { success: false, txHash: "", code: 60, data: long, log: "", height: 0n };
  expect(errorText(new TransactionError(result)).length).toBeLessThan(5000);
  expect(json({ a: "\u202e" })).toBe('{"a":"\\u202e"}\n');
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
