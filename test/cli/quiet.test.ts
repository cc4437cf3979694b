import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { startCommand } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { type CommandNode, startCommandNode } from "../support/devnode-command.js";

let folder: string;
let node: CommandNode;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-quiet-"));
  node = await startCommandNode("--quiet", "--admin");
});
afterAll(async () => {
  expect(await node.stop()).toMatchObject({ code: 0, err: "" });
  await rm(folder, { recursive: true });
});

it("--quiet warns of views that a sync cannot create", async () => {
  const file = join(folder, "own.duckdb");
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run("CREATE VIEW trades_v AS SELECT 1 AS mine");
  connection.closeSync();
  instance.closeSync();
  const args = ["sync", "--grpc-url", node.grpcUrl, "--table", "trades", "--to", `duckdb:${file}`];
  const { code, out, err } = await startCommand([...args, "-o", "table", "--quiet"], { cwd: folder }).ended;
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(/^\S+Z the views were not created or updated: [^\n]*"trades_v" exists but [^\n]*\n$/),
  ]);
  expect(out).toMatch(/^Loaded /);
});

const RANGE = ["--table", "trades", "--from-block", "1", "--to-block", "10"];

it.each([
  [["segments"]],
  [["params", "spam.*"]],
  [["stop-orders", "--limit", "1"]],
  [["export", ...RANGE, "--to", "trades.zip", "--force"]],
  [["export", ...RANGE, "--output", "csv", "--limit", "1"]],
  [["follow", "--table", "trades", "--limit", "1"]],
  [["ledger", "--party", "0a".repeat(32), "--output", "jsonl"]],
  [["call", "GetMarket", JSON.stringify({ marketId: openMarket })]],
  [["methods", "list*"]],
  [["schema", "--table", "trades"]],
  [["config"]],
  [["sync", "--table", "trades", "--to", "parquet:history"]],
  [["sync", "status", "--to", "parquet:history"]],
])("%j takes --quiet and --verbose", async (args) => {
  const reach = args[0] === "schema" || args[0] === "methods" ? [] : ["--grpc-url", node.grpcUrl];
  const quiet = await startCommand([...args, ...reach, "--quiet"], { cwd: folder }).ended;
  expect(quiet).toMatchObject({ code: 0, err: "" });
  expect(await startCommand([...args, ...reach, "--verbose"], { cwd: folder }).ended).toMatchObject({ code: 0 });
});
