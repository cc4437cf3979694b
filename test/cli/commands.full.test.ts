import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { csvZip } from "../support/archives.js";
import { listedCommands, type Outcome, run } from "../support/command.js";
import { startProcess } from "../support/command-process.js";
import { openMarket } from "../support/devnode.js";
import { writePrivately } from "../support/private-file.js";
import { seed } from "../support/transactions.js";

/** What each command is given, and the exit code that it ends with. */
const GIVEN: Readonly<Record<string, readonly [code: number, ...args: string[]]>> = {
  assemble: [1, "none.json"],
  call: [0, "GetMarket", JSON.stringify({ marketId: openMarket }), "NODE"],
  completion: [0, "bash"],
  config: [0, "--json", "NODE"],
  demo: [2, "more"],
  describe: [0, "vega.Side"],
  devnode: [2, "--segments", "0"],
  explain: [0, "TW_BANNED"],
  events: [2, "--type", "ordr", "NODE"],
  export: [0, "--table", "trades", "--from-block", "1", "--to-block", "10", "--output", "csv", "--limit", "2", "NODE"],
  follow: [0, "--table", "trades", "--limit", "2", "NODE"],
  inspect: [0, "a.zip"],
  keys: [0, "show", "key"],
  ledger: [2, "--party", "x", "NODE"],
  accounts: [0, "--limit", "2", "NODE"],
  markets: [0, "M0", "NODE"],
  orders: [0, "--limit", "2", "NODE"],
  positions: [0, "--limit", "2", "NODE"],
  trades: [0, "--limit", "2", "NODE"],
  merge: [1, "a.zip", "none.zip", "--to", "b.zip"],
  methods: [0, "*stoporders*"],
  doctor: [2, "--nosuch"],
  status: [1, "--json", "--grpc-url", "http://127.0.0.1:1"], // What a node answers differs in its latency.
  outcome: [2, "abc", "NODE"],
  params: [0, "spam.*", "NODE"],
  rows: [0, "a.zip"],
  query: [0, "SELECT 1"],
  schema: [0, "--table", "trades"],
  segments: [0, "NODE"],
  sign: [2, "command.json", "NODE"],
  signer: [2, "--socket", "s.sock", "NODE"],
  "stop-orders": [0, "--limit", "2", "NODE"],
  submit: [2, "command.json", "NODE"],
  sync: [0, "--to", "duckdb:h.duckdb", "--table", "trades", "--dry-run", "NODE"],
  verify: [2, "command.json", "NODE"],
};

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-commands-"));
  await writeFile(join(folder, "a.zip"), await csvZip());
  await writeFile(join(folder, "command.json"), JSON.stringify({ stopOrdersCancellation: {} }));
  await writePrivately(folder, "key", `${seed}\n`);
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

it.each([...(await listedCommands()).keys()])(
  "the process of `tradewire %s` writes and ends as the command does",
  async (name) => {
    const [code, ...rest] = GIVEN[name] ?? [];
    const args = [name, ...rest.flatMap((each) => (each === "NODE" ? ["--grpc-url", node.grpcUrl] : [each]))];
    const outcome: Outcome = await startProcess(args, folder).ended;
    expect(outcome.code).toBe(code);
    expect(outcome).toEqual(await run(args, { cwd: folder }));
  },
);
