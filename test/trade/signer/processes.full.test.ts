import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type Client, createClient, signerFromSeed } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { builtProgram } from "../../support/built-program.js";
import { type Running, start, startProcess } from "../../support/command-process.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { writePrivately } from "../../support/private-file.js";

let node: Devnode;
let client: Client;
let program: string;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 300, segments: 1, blocksPerSegment: 10 });
  client = createClient({ grpc: { url: node.grpcUrl } });
  program = await builtProgram("test/trade/signer/sending-program.ts", "sending");
});
afterAll(async () => {
  await client.close();
  await node.close();
});

/** 60 orders of size 1 fit into it, and no more. */
const policy = {
  maxOrdersPerMinute: 1000,
  markets: { [openMarket]: { maxSize: "1", maxNotional: "10", maxPosition: "60", maxDistance: "1" } },
};

let folder: string;
let socket: string;
let keyFile: string;
let policyFile: string;
let seed: string;
let count = 0;
const running: Running[] = [];
beforeEach(async () => {
  count += 1;
  seed = count.toString(16).padStart(2, "0").repeat(32);
  folder = await mkdtemp(join(tmpdir(), "tradewire-signers-"));
  socket = join(folder, "s.sock");
  keyFile = await writePrivately(folder, "key", `${seed}\n`);
  policyFile = await writePrivately(folder, "policy.json", JSON.stringify(policy));
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
  await rm(folder, { recursive: true });
});

/** Starts the command `signer`, and waits until it is ready. */
async function startSigner(): Promise<Running> {
  const files = ["--policy", policyFile, "--key-file", keyFile, "--socket", socket];
  const signer = startProcess(["signer", ...files, "--grpc-url", node.grpcUrl]);
  running.push(signer);
  await signer.firstLine;
  return signer;
}

/** Starts a program that sends orders. */
function startSending(orders: number, signer: string): Running {
  const sending = start(process.execPath, [program, node.grpcUrl, signer, String(orders)]);
  running.push(sending);
  return sending;
}

/** Counts the orders of the key, once all that was sent is in blocks. */
async function executed(): Promise<number> {
  const { height } = await client.lastBlockHeight();
  await eventually(async () => (await client.lastBlockHeight()).height > height + 2n);
  const { publicKey } = signerFromSeed(seed);
  const { orders } = await client.service(TradingDataService).listOrders({ filter: { partyIds: [publicKey] } });
  return orders?.edges.length ?? 0;
}

const linesOf = (text: string) => text.split("\n").filter((line) => line !== "");

it("two programs with one signer process lose none", async () => {
  const { child, ended } = await startSigner();
  const programs = [startSending(30, socket), startSending(30, socket)];
  for (const program of programs) {
    expect(linesOf((await program.ended).out)).toEqual(Array.from({ length: 30 }, () => "sent"));
  }
  expect(await executed()).toBe(60);
  child.kill("SIGTERM");
  const { code, out, err } = await ended;
  expect(code).toBe(0);
  expect(`${out}${err}`).not.toContain(seed);
});

it("what a signer did not sign before it was killed was not sent, and the program goes on after its restart", async () => {
  const first = await startSigner();
  const sending = startSending(60, socket);
  await sending.firstLine;
  first.child.kill("SIGKILL");
  await once(first.child, "close");
  await startSigner();
  const { out, code } = await sending.ended;
  expect(code).toBe(0);
  const errors = linesOf(out).filter((line) => line !== "sent");
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) {
    expect(error).toMatch(
      /^(no signer is listening on|the signer at .* stopped before it responded).*Nothing was sent\.$/,
    );
  }
  expect(linesOf(out).filter((line) => line === "sent")).toHaveLength(60);
  expect(await executed()).toBe(60);
});

it("two programs together get no more signed than the policy allows", async () => {
  await startSigner();
  const programs = [startSending(40, socket), startSending(40, socket)];
  const outs = await Promise.all(programs.map(async ({ ended }) => linesOf((await ended).out)));
  expect(
    outs.flat().filter((line) => line.includes("the long position could become 61, which exceeds 60")),
  ).not.toEqual([]);
  const count = await executed();
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(60);
});
