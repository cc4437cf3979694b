import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, signerFromMnemonic } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { run } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { type CommandNode, startCommandNode } from "../support/devnode-command.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-cli-devnode-"));
});
afterAll(() => rm(folder, { recursive: true }));

const makeBlock = ({ restUrl }: CommandNode) => run(["devnode", "make-block", "--url", restUrl]);
const exported = async ({ grpcUrl }: CommandNode, from: number, to: number) =>
  (
    await run([
      ...["export", "--table", "trades", "--from-block", String(from), "--to-block", String(to)],
      ...["--output", "csv", "--transport", "grpc", "--grpc-url", grpcUrl],
    ])
  ).out;

describe("tradewire devnode", () => {
  it("prints where it listens, its chain, and keys with which anybody can trade", async () => {
    const node = await startCommandNode("--chain-id", "mine");
    const { grpcUrl, restUrl, chainId, mnemonic, keys } = node;
    expect([grpcUrl, restUrl]).toEqual(Array(2).fill(expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)));
    expect([chainId, mnemonic]).toEqual(["mine", "test test test test test test test test test test test junk"]);
    const signers = await Promise.all(keys.map((_, index) => signerFromMnemonic(mnemonic, { index: index + 1 })));
    expect(keys).toEqual(signers.map(({ publicKey }) => publicKey));
    expect(keys).toHaveLength(10);
    const { out, err, code } = await node.stop();
    expect([code, err]).toEqual([0, "The node of chain mine is running; Ctrl-C stops it.\n"]);
    expect(Object.keys(JSON.parse(out))).toEqual(["grpcUrl", "restUrl", "chainId", "mnemonic", "keys"]);
  });

  it("exports rows of one's own", async () => {
    const oneSchema = ["--schema-versions", "116"];
    await using madeUp = await startCommandNode(...oneSchema);
    const [header = "", first = "", second = ""] = (await exported(madeUp, 1, 10)).split("\n");
    const mine = [first, second].map((row) => row.replace(/^(.*?),(\d+),(\d+),/, "$1,424242,$3,"));
    expect(mine).not.toEqual([first, second]);
    const path = join(folder, "a=b.csv");
    await writeFile(path, `${[header, ...mine].join("\n")}\n`);
    await using node = await startCommandNode(...oneSchema, "--genesis", `trades=${path}`);
    expect(await exported(node, 1, 40)).toBe(await readFile(path, "utf8"));
  });

  it("has segments of the schema versions that it is given", async () => {
    await using node = await startCommandNode("--schema-versions", "110,116");
    const listed = await run(["segments", "--json", "--transport", "rest", "--rest-url", node.restUrl]);
    expect(JSON.parse(listed.out).schemas).toEqual([
      { fromBlock: "1", toBlock: "10", databaseVersion: "110", segments: 1 },
      { fromBlock: "11", toBlock: "40", databaseVersion: "116", segments: 3 },
    ]);
  });

  it("has made-up parties that trade in each block", async () => {
    await using node = await startCommandNode("--admin", "--activity", "2");
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const core = client.service(CoreService);
    const trades = async () => (await core.statistics({})).statistics?.totalTrades;
    await makeBlock(node);
    // The first trades move the prices, and stop orders trigger.
    const first = (await trades()) ?? 0n;
    expect(first).toBeGreaterThanOrEqual(82n);
    for (let made = 0; made < 12; made += 1) {
      const headers = { "content-type": "application/json" };
      await fetch(`${node.restUrl}/admin/make-block`, { method: "POST", headers, body: "{}" });
    }
    expect(await trades()).toBe(first + 24n);
  });

  it("makes blocks by itself", async () => {
    await using node = await startCommandNode("--block-time", "20ms");
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    let height = 0n;
    while (height < 42n) {
      ({ height } = await client.lastBlockHeight());
    }
  });

  it("keeps its blocks in a folder, which one node has at a time, with the same settings", async () => {
    const kept = ["--data-dir", join(folder, "kept"), "--admin"];
    const first = await startCommandNode(...kept);
    await makeBlock(first);
    expect((await makeBlock(first)).out).toBe('{"height":"42"}\n');
    const start = ["devnode", "--grpc-port", "0", "--rest-port", "0", "--segments", "4", "--blocks-per-segment", "10"];
    expect(await run([...start, ...kept])).toEqual({
      code: 2,
      out: "",
      err: expect.stringMatching(/^tradewire: .*kept is in use by the node of process \d+\nStop that node, .*\n$/),
    });
    expect((await first.stop()).code).toBe(0);
    expect(await run([...start, ...kept, "--chain-id", "another"])).toEqual({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /^tradewire: .*kept contains the blocks of a node with other settings: .*\nStart .*\n$/,
      ),
    });
    await using again = await startCommandNode(...kept);
    expect((await makeBlock(again)).out).toBe('{"height":"43"}\n');
  });

  it("says at once that a port is taken, and leaves no folder behind", async () => {
    await using node = await startCommandNode();
    const { host, port } = new URL(node.restUrl);
    const dataDir = join(folder, "never");
    expect(await run(["devnode", "--grpc-port", "0", "--rest-port", port, "--data-dir", dataDir])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(new RegExp(`^tradewire: cannot listen on ${host}: .*\nUse another port, or 0`)),
    });
    await expect(readFile(join(dataDir, "blocks.jsonl"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  const onLinux = process.platform === "linux" ? it : it.skip;
  onLinux("says that its folder cannot be made, also where the system finds no words for it", async () => {
    const args = ["--grpc-port", "0", "--rest-port", "0", "--data-dir", "/proc/tradewire/node"];
    expect(await run(["devnode", ...args])).toEqual({
      code: 1,
      out: "",
      err: "tradewire: /proc/tradewire/node: no such file or directory\nChoose another folder: this one cannot be created.\n",
    });
  });

  it("prints a line for each transaction that fails in its block", async () => {
    const node = await startCommandNode("--admin");
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const value = { marketId: openMarket, orderId: "ab".repeat(32) };
    const { txHash } = await client.sendCommand({ case: "orderCancellation", value }, { signer });
    await makeBlock(node);
    const { err } = await node.stop();
    expect(err.split("\n")).toEqual([
      "The node of chain tradewire-devnet is running; Ctrl-C stops it.",
      expect.stringMatching(
        new RegExp(`^Block 41: transaction ${txHash} failed: unable to find the order in the market$`),
      ),
      "",
    ]);
  });

  it.each([
    [
      ["--activity", "10001"],
      "tradewire: --activity must be the number of trades in each block, from 0 to 10000 (got 10001)",
    ],
    [
      ["--schema-versions", "117"],
      "tradewire: --schema-versions[0] must be an array of schema versions from 1 to 116, such as 115 and 116 (got 117)",
    ],
    [["--schema-versions", "115,"], "tradewire: --schema-versions must be one or more values, separated by commas"],
    [["--schema-versions", "115,x"], 'tradewire: --schema-versions must be a whole number from 0 (got "x")'],
    [["--profile", "mine"], "argument 'mine' is invalid"],
    [
      ["--segments", "1000000", "--blocks-per-segment", "9999"],
      "--segments and --blocks-per-segment result in 9999000000",
    ],
    [["--genesis", "trade=rows.csv"], "argument 'trade=rows.csv' is invalid"],
    [["--genesis", "trades"], "argument 'trades' is invalid"],
    [["--block-time", "-1s"], "tradewire: --block-time must be a duration, such as 500ms, 30s, 2m or 1h (got"],
    [["--commit-delay", "soon"], "tradewire: --commit-delay must be a duration, such as 500ms, 30s, 2m or 1h (got"],
  ])("refuses %j in a line, with advice", async (args, said) => {
    const { code, out, err } = await run(["devnode", ...args]);
    expect([code, out]).toEqual([2, ""]);
    const [summary, ...advice] = err.trimEnd().split("\n");
    expect(summary).toContain(said);
    expect(advice).toEqual(
      summary?.includes("must be ") && !summary.includes("a duration")
        ? []
        : [expect.stringMatching(/^(Try|Use|Allowed choices are|The default unit is) /)],
    );
  });

  it("says that a file of rows does not exist, or does not fit its table", async () => {
    const missing = await run(["devnode", "--genesis", `trades=${join(folder, "missing.csv")}`]);
    expect(missing).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/missing\.csv: file not found\n/),
    });
    const path = join(folder, "wrong.csv");
    await writeFile(path, "id,colour\nab,red\n");
    const wrong = await run(["devnode", "--grpc-port", "0", "--rest-port", "0", "--genesis", `trades=${path}`]);
    expect(wrong).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /^Loading the rows of trades \(17 B\) …\ntradewire: --genesis trades, row 1.*colour.*\n/,
      ),
    });
    const older = ["--segments", "1", "--schema-versions", "115,116"];
    const newer = "vega_time,id,market_id,size,price,buyer,seller,buyer_buy_back_fee";
    await writeFile(path, `${newer}\n2023-10-19 08:00:01+00,ab,ab,1,1,ab,ab,7\n`);
    const dropped = await run([
      "devnode",
      "--grpc-port",
      "0",
      "--rest-port",
      "0",
      ...older,
      "--genesis",
      `trades=${path}`,
    ]);
    expect(dropped).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /row 1: column buyer_buy_back_fee has a value, but blocks 1 to 1000 .*\nSet --schema-versions /,
      ),
    });
  });
});
