import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";
import { serveNode, type TestNode } from "../support/node.js";
import { rawZip } from "../support/raw-zip.js";

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

  it.each([[[]], [["--json"]], [["--output", "jsonl"]]])("is shown escaped: params %j", async (options) => {
    const outcome = await run(["params", "--transport", "rest", "--rest-url", node.restUrl, ...options]);
    expect(outcome.code).toBe(0);
    expect(outcome.out).toContain("key");
    expect(outcome.out).not.toMatch(RAW);
    if (options.includes("--json")) {
      expect(JSON.parse(outcome.out)).toEqual({ networkParameters: [{ key, value: "v" }] });
    }
  });

  it.each([[[]], [["--json"]]])("is cut in errors: stop-orders %j", async (options) => {
    const outcome = await run([
      "stop-orders",
      "0a".repeat(32),
      "--transport",
      "rest",
      "--rest-url",
      node.restUrl,
      ...options,
    ]);
    expect(outcome.code).toBe(1);
    expect(outcome.out.length + outcome.err.length).toBeLessThan(5000);
    expect(outcome.out + outcome.err).toContain("mmm…");
  });
});

it("rows as lines of JSON are escaped, and mean the same", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-escaped-"));
  await writeFile(join(folder, "a.zip"), rawZip([{ name: "c-trades-1-10.csv", content: `a\n${SNEAKY.join("")}\n` }]));
  const { out } = await run(["rows", join(folder, "a.zip"), "--output", "jsonl"]);
  await rm(folder, { recursive: true });
  expect(out).not.toMatch(RAW);
  expect(JSON.parse(out)).toMatchObject({ a: SNEAKY.join("") });
});
