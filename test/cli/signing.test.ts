import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { main, run, start } from "../support/command.js";
import { seed } from "../support/transactions.js";

/** One node for all. It makes blocks when it is told to. */
let node: Devnode;
let folder: string;
let keyFile: string;
let commandFile: string;
let over: string[];
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  over = ["--transport", "rest", "--rest-url", node.restUrl];
  folder = await mkdtemp(join(tmpdir(), "tradewire-signing-"));
  keyFile = await write("key", `${seed}\n`);
  commandFile = await write("command.json", JSON.stringify({ stopOrdersCancellation: {} }));
});
beforeEach(async () => {
  await node.makeBlock(); // Each block serves only so many transactions of a key.
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

async function write(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

describe("the chain that the user names", () => {
  const other = 'the node is on chain "tradewire-devnet", and the chain named is "vega-mainnet-0011"';

  test("is the only one that is signed or verified for", async () => {
    const sign = ["sign", commandFile, "--key-file", keyFile, ...over];
    const signed = await run([...sign, "--chain-id", "tradewire-devnet"]);
    expect(signed).toMatchObject({ code: 0, err: "" });
    const file = await write("signed.json", signed.out);
    const valid = await run(["verify", file, ...over, "--chain-id", "tradewire-devnet"]);
    expect(valid).toMatchObject({ code: 0, out: expect.stringContaining("Valid for chain tradewire-devnet: ") });
    for (const args of [sign, ["submit", ...sign.slice(1)], ["verify", file, ...over]]) {
      const refused = await run([...args, "--chain-id", "vega-mainnet-0011"]);
      expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining(other) });
    }
  });

  test("may be named by the environment, and has to be where the node is elsewhere", async () => {
    const environment = { TRADEWIRE_CHAIN_ID: "vega-mainnet-0011" };
    const args = [main, "sign", commandFile, "--key-file", keyFile];
    const refused = await start(process.execPath, [...args, ...over], undefined, environment).ended;
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining(other) });
    const elsewhere = ["--transport", "rest", "--rest-url", "http://node.invalid:1"];
    const unnamed = await start(process.execPath, [...args, ...elsewhere]).ended;
    expect(unnamed).toMatchObject({ code: 2, out: "", err: expect.stringContaining("or --chain-id") });
  });

  test("is refused where it is no identifier of a chain", async () => {
    const refused = await run(["sign", commandFile, "--key-file", keyFile, ...over, "--chain-id", "a b"]);
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining('chainId is "a b", but must be') });
  });
});
