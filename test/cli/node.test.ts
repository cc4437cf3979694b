import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Outcome, type Running, run, startCommand } from "../support/command.js";
import { closedUrl } from "../support/node.js";

const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** One node for all, started by the command itself. */
let node: Running;
let urls: { grpcUrl: string; restUrl: string; chainId: string; keys: string[] };
beforeAll(async () => {
  const size = ["--segments", "4", "--blocks-per-segment", "10", "--block-time", "0", "--chain-id", "cli-1"];
  node = startCommand(["devnode", "--grpc-port", "0", "--rest-port", "0", "--json", ...size]);
  urls = JSON.parse(await node.firstLine);
});
afterAll(async () => {
  node.interrupt("SIGTERM");
  await node.ended;
});

function presentable({ out, err }: Outcome): void {
  expect(out + err).not.toContain("\x1b");
  expect(out + err).not.toMatch(/^\s+at .*:\d+/m);
  expect(out + err).not.toContain("Warning");
}

describe("tradewire over auto", () => {
  it("delivers over REST where the gRPC port is closed, and says so in one line", async () => {
    const closed = await closedUrl();
    const folder = await mkdtemp(join(tmpdir(), "tradewire-cli-"));
    const range = ["--table", "trades", "--from-block", "1", "--to-block", "40", "--to", folder, "--json"];
    const outcome = await run([
      "export",
      "--transport",
      "auto",
      "--grpc-url",
      closed,
      "--rest-url",
      urls.restUrl,
      ...range,
    ]);
    presentable(outcome);
    expect(outcome.code).toBe(0);
    expect(outcome.err).toBe(`tradewire: grpc: the connection was refused (${closed}); falling back to rest\n`);
    const files = await readdir(folder);
    expect(files.map((file) => join(folder, file))).toEqual([JSON.parse(outcome.out).path]);
    await rm(folder, { recursive: true });
  });
});

describe.each(["grpc", "rest"] as const)("tradewire segments over %s", (transport) => {
  const ask = (...more: string[]) =>
    run(["segments", "--transport", transport, `--${transport}-url`, urls[`${transport}Url`], ...more]);

  it("prints a table", async () => {
    const outcome = await ask("--output", "table");
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    const [list = "", summary] = outcome.out.split("\n\n");
    const rows = list.split("\n").map((line) => line.trim().split(/ +/));
    expect(rows.map((cells) => cells.slice(0, 4))).toEqual([
      ["fromHeight", "toHeight", "databaseVersion", "chainId"],
      ["1", "10", "115", "cli-1"],
      ["11", "20", "115", "cli-1"],
      ["21", "30", "115", "cli-1"],
      ["31", "40", "116", "cli-1"],
    ]);
    expect(summary).toBe(
      [
        "                    fromBlock  toBlock  segments",
        "contiguous                  1       40         4",
        "schema version 115          1       30         3",
        "schema version 116         31       40         1",
        "",
      ].join("\n"),
    );
  });

  it("prints one JSON object", async () => {
    const outcome = await ask("--json");
    expect(outcome).toMatchObject({ code: 0, err: "" });
    const { segments, ...summary } = JSON.parse(outcome.out);
    expect(summary).toEqual({
      spans: [{ fromBlock: "1", toBlock: "40", segments: 4 }],
      gaps: [],
      schemas: [
        { fromBlock: "1", toBlock: "30", databaseVersion: "115", segments: 3 },
        { fromBlock: "31", toBlock: "40", databaseVersion: "116", segments: 1 },
      ],
    });
    expect(segments).toHaveLength(4);
    expect(segments[0]).toEqual({
      fromHeight: "1",
      toHeight: "10",
      historySegmentId: expect.stringMatching(/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/),
      previousHistorySegmentId: "",
      databaseVersion: "115",
      chainId: "cli-1",
    });
  });

  it("tells that the node is down", async () => {
    const outcome = await run(["segments", "--transport", transport, `--${transport}-url`, "http://127.0.0.1:1"]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(/^tradewire: .*\(http:\/\/127\.0\.0\.1:1\)\n.+\n$/);
  });
});

describe("tradewire devnode", () => {
  it("prints where it answers", () => {
    expect(urls).toEqual({
      grpcUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      restUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      chainId: "cli-1",
      mnemonic: DEV_MNEMONIC,
      keys: Array(10).fill(expect.stringMatching(/^[0-9a-f]{64}$/)),
    });
    expect(new Set(urls.keys).size).toBe(10);
  });

  it("says where a port is taken", async () => {
    const { port } = new URL(urls.grpcUrl);
    const outcome = await run(["devnode", "--segments", "1", "--blocks-per-segment", "1", "--grpc-port", port]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(/^tradewire: cannot listen on 127\.0\.0\.1:\d+: .*\nUse another port, or 0/);
  });

  it.each([
    [["--grpc-port", "x"], 'tradewire: --grpc-port must be a whole number from 0 (got "x")'],
    [
      ["--rest-port", "70000"],
      "tradewire: --rest-port must be a TCP port from 1 to 65535, or 0 for a free one (got 70000)",
    ],
    [["--segments", "0"], "tradewire: --segments must be a whole number from 1 to 1000000 (got 0)"],
    [["--chain-id", "../x"], 'tradewire: --chain-id must be 1 to 50 characters of A-Z a-z 0-9 . _ - (got "../x")'],
  ])("refuses %j", async (args, said) => {
    const outcome = await run(["devnode", ...args]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).toContain(said);
  });

  it.each(["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"] as const)("ends well on %s", async (signal) => {
    const other = startCommand([
      "devnode",
      "--segments",
      "1",
      "--blocks-per-segment",
      "1",
      "--grpc-port",
      "0",
      "--rest-port",
      "0",
      "-o",
      "table",
    ]);
    expect(await other.firstLine).toMatch(/^gRPC http:\/\/127\.0\.0\.1:\d+$/);
    other.interrupt(signal);
    const outcome = await other.ended;
    presentable(outcome);
    expect(outcome.code).toBe(0);
    expect(outcome.out).toMatch(/^gRPC http:\S+\nREST http:\S+\n$/);
    expect(outcome.err.split("\n")).toEqual([
      `Keys with balances, from the publicly known mnemonic "${DEV_MNEMONIC}":`,
      ...urls.keys.map((key, index) => `  ${String(index + 1).padStart(2)} ${key}`),
      "The node of chain tradewire-devnet is running; Ctrl-C stops it.",
      "",
    ]);
  });
});

describe("tradewire demo", () => {
  it("exports the same archive over both transports", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-cli-"));
    try {
      const outcome = await run(["demo", "--to", folder]);
      presentable(outcome);
      expect(outcome).toMatchObject({ code: 0, err: "" });
      expect(outcome.out).toContain("Both archives are identical and contain:\n");
      const name = "tradewire-devnet-trades-116-2001-5000.zip";
      expect([await readdir(join(folder, "grpc")), await readdir(join(folder, "rest"))]).toEqual([[name], [name]]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("tradewire", () => {
  it("prints its help on standard output when asked", async () => {
    const outcome = await run(["--help"]);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(outcome.out).toMatch(/^Usage: tradewire /);
    const all = await run(["help", "--all"]);
    expect(all.code).toBe(0);
    expect(all.out).toMatch(/^ {2}merge /m);
    expect(outcome.out).not.toMatch(/^ {2}merge /m);
    expect(outcome.out).toMatch(/^ {2}markets /m);
    expect(outcome.out).toContain("`tradewire help --all` lists all of them");
    expect(Math.max(...outcome.out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it.each([[[]], [["unknown"]], [["--unknown"]]])("refuses %j, with nothing on standard output", async (args) => {
    const outcome = await run(args);
    presentable(outcome);
    expect(outcome).toMatchObject({ code: 2, out: "" });
    expect(outcome.err).not.toBe("");
  });
});
