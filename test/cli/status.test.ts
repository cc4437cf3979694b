import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { freePort } from "../support/free-port.mjs";

let node: Devnode;
let down: string;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
  down = `http://127.0.0.1:${await freePort()}`;
});
afterAll(() => node.close());

it("shows each node, and why one is not used", async () => {
  const { code, out, err } = await run(["status", "--output", "table", "--grpc-url", node.grpcUrl, "--grpc-url", down]);
  expect(code).toBe(0);
  const rows = out.split("\n").map((line) => line.trim().split(/ {2,}/));
  expect(rows[0]).toEqual([
    "node",
    "state",
    "chainId",
    "height",
    "behindBlocks",
    "latencyMs",
    "lag.behindClockMs",
    "version",
  ]);
  expect(rows[1]?.slice(0, 5)).toEqual([`grpc ${node.grpcUrl}`, "usable", "tradewire-devnet", "10", "0"]);
  expect(rows[2]).toEqual([`grpc ${down}`, "unreachable"]);
  expect(err).toBe(`grpc ${down}: the connection was refused (${down})\n`);
});

it("prints an object for each node as JSON", async () => {
  const { out } = await run(["status", "--json", "--rest-url", node.restUrl]);
  expect(JSON.parse(out)).toMatchObject({
    nodes: [{ name: "rest", url: node.restUrl, state: "usable", height: "10" }],
  });
  expect(out).toMatch(/"latencyMs":\d+(\.\d)?,/);
});

it("prints lines of JSON with --follow until it is interrupted", async () => {
  const running = startCommand(["status", "--rest-url", node.restUrl, "--follow", "--interval", "1ms"]);
  let lines = 0;
  for await (const chunk of running.stdout) {
    lines += String(chunk).split("\n").length - 1;
    if (lines >= 2) {
      running.interrupt("SIGINT");
    }
  }
  expect((await running.ended).code).toBe(130);
  expect(JSON.parse(await running.firstLine)).toMatchObject({ name: "rest", state: "usable" });
});

it("redraws the table on a terminal with --watch", async () => {
  const args = ["status", "--rest-url", node.restUrl, "--watch", "--interval", "1ms"];
  const running = startCommand(args, { terminal: { columns: 80, rows: 20 } });
  const redrawn = "\x1b[3A";
  for await (const _ of running.stdout) {
    if (running.printed().includes(redrawn)) {
      running.interrupt("SIGINT");
    }
  }
  expect((await running.ended).code).toBe(130);
  const [first = "", ...others] = running.printed().split(redrawn);
  expect(others.length).toBeGreaterThan(0);
  expect(first).toMatch(/node +state[^\n]*\nrest http[^\n]*\n[\d:]+ {2}Ctrl-C ends/);
});

it.each([
  [["--watch"], "--watch redraws a table on a terminal\nUse --follow to print each change as a line of JSON."],
  [["--follow", "-o", "table"], "--follow prints lines of JSON, not table\nUse -o jsonl, or --watch"],
  [["--interval", "1s"], "--interval needs --watch or --follow"],
])("refuses to repeat with %j in a pipe", async (args, said) => {
  const { code, out, err } = await run(["status", "--rest-url", node.restUrl, ...args]);
  expect({ code, out, err }).toEqual({ code: 2, out: "", err: expect.stringContaining(said) });
});

it("fails if no node can be used", async () => {
  const { code, out } = await run(["status", "--grpc-url", down]);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ state: "unreachable", error: expect.stringContaining("refused") });
});

it("says where the URL comes from if no node is reachable", async () => {
  const environment = { TRADEWIRE_GRPC_URL: down };
  const { code, err } = await run(["status", "--output", "table"], { environment });
  expect({ code, err }).toEqual({
    code: 1,
    err:
      `grpc: the connection was refused (${down})\n${down} is set by environment variable TRADEWIRE_GRPC_URL. ` +
      "To use another node, set --grpc-url or --rest-url. `tradewire devnode` starts a local node.\n",
  });
});

it.each([["params", "spam.pow.difficulty"], ["segments"]])(
  "has %s read from a node that answers, of several",
  async (...command) => {
    const { code, err } = await run([...command, "--grpc-url", down, "--grpc-url", node.grpcUrl]);
    expect(code).toBe(0);
    expect(err).toContain(`falling back to grpc ${node.grpcUrl}`);
  },
);

it("prefers the transport that is named first", async () => {
  const urls = ["--grpc-url", node.grpcUrl, "--rest-url", node.restUrl, "--verbose"];
  const { err } = await run(["params", "spam.pow.difficulty", "--transport", "rest,grpc", ...urls]);
  expect(err).toContain("over auto");
  const config = await run(["config", "--transport", "rest,grpc", ...urls, "--json"]);
  expect(JSON.parse(config.out)).toMatchObject({ transport: { value: ["rest", "grpc"], source: "--transport" } });
});
