import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
