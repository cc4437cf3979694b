import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { freePort } from "../support/free-port.mjs";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 2, blocksPerSegment: 10, blockMs: 0 });
});
afterAll(() => node.close());

const ask = (...args: string[]) => run([...args, "--grpc-url", node.grpcUrl]);
const linesOf = (text: string) => text.trimEnd().split("\n");

/** Commands that print records, with the member of the JSON object that lists them. */
const LISTS: readonly (readonly [member: string, ...args: string[]])[] = [
  ["networkParameters", "params", "spam.pow.*"],
  ["markets", "markets"],
  ["orders", "orders", "--limit", "3"],
  ["trades", "trades", "--limit", "3"],
  ["positions", "positions", "--limit", "3"],
  ["accounts", "accounts", "--limit", "3"],
  ["stopOrders", "stop-orders", "--limit", "3"],
  ["segments", "segments"],
  ["methods", "methods", "list*orders"],
];

describe.each(LISTS)("the list %s of `%s`", (member, ...args) => {
  it("is lines of JSON in a pipe, and the same records in every format", async () => {
    const records = linesOf((await ask(...args)).out).map((line) => JSON.parse(line));
    expect(records.length).toBeGreaterThan(1);
    expect(JSON.parse((await ask(...args, "-o", "json")).out)[member]).toEqual(records);
    expect(await ask(...args, "--json")).toEqual(await ask(...args, "--output=json"));
    expect(await ask(...args, "-o", "jsonl")).toEqual(await ask(...args));
    const csv = (await ask(...args, "-o", "csv")).out;
    expect(linesOf(csv).length).toBeGreaterThan(records.length);
    expect(csv).not.toContain("[object Object]");
    expect(linesOf((await ask(...args, "-o", "table")).out).length).toBeGreaterThan(records.length);
  });
});

it.each([
  [["schema", "--table", "trades"], /^table,name,type,/],
  [["describe", "vega.Side"], /^number,name\n0,SIDE_UNSPECIFIED\n/],
  [["config", "--rest-url", "http://127.0.0.1:1"], /^key,value,source\n/],
  [["config", "--rest-url", "http://127.0.0.1:1"], /\nrest\.url,http:\/\/127\.0\.0\.1:1,--rest-url\n/],
])("%j prints the records of its result as CSV", async (args, expected) => {
  expect(await run([...args, "--output", "csv"])).toMatchObject({
    code: 0,
    err: "",
    out: expect.stringMatching(expected),
  });
});

it("--json agrees with --output json, and with no other format", async () => {
  const parameter = ["params", "spam.pow.difficulty"];
  expect(await ask(...parameter, "--json", "-o", "json")).toEqual(await ask(...parameter, "--json"));
  const refused = await ask(...parameter, "--json", "-o", "csv");
  expect(refused.code).toBe(2);
  expect(JSON.parse(refused.out).error.message).toBe(
    "option '--json' cannot be used with option '-o, --output <format>'",
  );
  const help = await run(["help", "--json"]);
  expect([help.code, help.err]).toEqual([2, ""]);
  expect(JSON.parse(help.out).error.message).toBe("help has no option '--json'");
});

it("columns are chosen by their names in any case, with or without underscores", async () => {
  const chosen = await ask("orders", "--limit", "2", "-o", "csv", "--columns", "ID,market_id");
  expect(chosen).toEqual(await ask("orders", "--limit", "2", "-o", "csv", "--columns", "id,marketId"));
  expect(chosen.out).toMatch(/^id,marketId\n/);
  const range = ["export", "--table", "trades", "--from-block", "1", "--to-block", "10", "-o", "csv"];
  expect((await ask(...range, "--columns", "Price,marketId")).out).toMatch(/^price,market_id\n/);
  expect(await ask("orders", "--columns", "id,ID")).toMatchObject({ code: 2, out: "" });
});

describe("rows as one JSON array", () => {
  const range = ["export", "--table", "trades", "--from-block", "1", "--to-block", "20", "--output"];

  it("are those of the lines of JSON", async () => {
    const rows = linesOf((await ask(...range, "jsonl")).out).map((line) => JSON.parse(line));
    expect(JSON.parse((await ask(...range, "json")).out)).toEqual(rows);
  });
});

it.each([["--json"], ["--output=json"], ["-ojson"], ["-o", "json"], ["--output", "json"]])(
  "errors are JSON with %s %s, also those of usage",
  async (...format) => {
    const down = `http://127.0.0.1:${await freePort()}`;
    const failed = await run(["params", ...format, "--grpc-url", down]);
    expect([failed.code, failed.err]).toEqual([1, ""]);
    expect(JSON.parse(failed.out)).toMatchObject({ error: { message: expect.stringContaining("refused") } });
    const unknown = await run(["params", ...format, "--no-such-option"]);
    expect([unknown.code, unknown.err]).toEqual([2, ""]);
    expect(JSON.parse(unknown.out)).toMatchObject({ error: { message: "unknown option '--no-such-option'" } });
  },
);

it.each([["params", "--help"], ["params", "--limit", "x"], ["--help"]])(
  "%s %s has no colours with --no-color, even if they are forced",
  async (...args) => {
    const environment = { FORCE_COLOR: "1" };
    const colored = await run(args, { environment });
    expect(colored.out + colored.err).toContain("\x1b[");
    const plain = await run([...args, "--no-color"], { environment });
    expect(plain.out + plain.err).not.toContain("\x1b[");
  },
);
