import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { signerFromSeed } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Running, run, startCommand } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { writePrivately } from "../support/private-file.js";
import { seed } from "../support/transactions.js";

const { publicKey } = signerFromSeed(seed);
const market = { maxSize: "100", maxNotional: "1000000", maxPosition: "10000" };
const policy = { mode: "active", maxOrdersPerMinute: 100, markets: { [openMarket]: market } };

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 50 });
});
afterAll(() => node.close());

let folder: string;
let socket: string;
let admin: string;
let args: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-signer-"));
  [socket, admin] = [join(folder, "s.sock"), join(folder, "admin.sock")];
  const keyFile = await writePrivately(folder, "key", `${seed}\n`);
  const policyFile = await writePrivately(folder, "policy.json", JSON.stringify(policy));
  args = ["signer", "--policy", policyFile, "--key-file", keyFile, "--listen", socket, "--grpc-url", node.grpcUrl];
});
const running: Running[] = [];
afterEach(async () => {
  for (const { interrupt, ended } of running.splice(0)) {
    interrupt("SIGTERM");
    await ended;
  }
  await rm(folder, { recursive: true });
});

/** Starts a signer, and waits until it is ready. */
async function startSigner(...more: readonly string[]): Promise<Running> {
  const signer = startCommand([...args, ...more]);
  running.push(signer);
  await signer.firstLine;
  return signer;
}

/** Writes an order of a size, and submits it through the signer. */
async function submit(size: string, ...more: readonly string[]) {
  const orderSubmission = { marketId: openMarket, price: "1", size, side: 1, timeInForce: 1, type: 1 };
  const file = await writePrivately(folder, `${size}.json`, JSON.stringify({ orderSubmission }));
  return run(["submit", file, "--signer", socket, "--grpc-url", node.grpcUrl, ...more]);
}

describe("a signer", () => {
  test("says who it is, signs, and ends in order", async () => {
    const signer = await startSigner("--admin", admin);
    expect(await signer.firstLine).toBe(
      `Signing with ${publicKey} for chain tradewire-devnet, active, by ${join(folder, "policy.json")}, on ${socket}, ${admin} for the operator.`,
    );
    expect(await submit("1", "--wait")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^executed in block \d+/m),
    });
    signer.interrupt("SIGTERM");
    const { code, out, err } = await signer.ended;
    expect(code).toBe(0);
    expect(out + err).not.toContain(seed);
    expect((await readdir(folder)).sort()).toEqual(["1.json", "key", "policy.json"]);
  });

  test("refuses what the policy does not allow, and prints it", async () => {
    const signer = await startSigner("--json");
    expect(JSON.parse(await signer.firstLine)).toMatchObject({ event: "ready", publicKey, socket, mode: "active" });
    const refused = await submit("1000");
    expect(refused).toMatchObject({ code: 2, out: "" });
    const asJson = await submit("1000", "--json");
    expect(JSON.parse(asJson.out)).toMatchObject({ error: { name: "PolicyError", rule: "maxSize" } });
    signer.interrupt("SIGTERM");
    const events = (await signer.ended).out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.slice(1)).toMatchObject([
      { event: "refused", error: { name: "PolicyError", rule: "maxSize" } },
      { event: "refused" },
    ]);
  });

  test("is halted by anyone who can use it, and set free by the operator", async () => {
    await startSigner("--admin", admin);
    expect(await run(["signer", "mode", socket])).toMatchObject({ code: 0, out: "active\n" });
    expect(await run(["signer", "mode", socket, "halted", "--json"])).toMatchObject({
      code: 0,
      out: '{"mode":"halted"}\n',
    });
    expect(await submit("1")).toMatchObject({ code: 2, out: "" });
    const loosened = await run(["signer", "mode", socket, "active"]);
    expect(loosened).toMatchObject({ code: 2, err: expect.stringContaining("a program cannot change it to active") });
    expect(await run(["signer", "mode", admin, "active"])).toMatchObject({ code: 0, out: "active\n" });
    expect(await submit("1")).toMatchObject({ code: 0 });
  });

  test("cancels all orders by the kill switch", async () => {
    await startSigner();
    expect(await submit("1", "--wait")).toMatchObject({ code: 0 });
    const killed = await run(["signer", "kill", socket, "--json"]);
    expect(killed).toMatchObject({ code: 0 });
    expect(await run(["signer", "mode", socket])).toMatchObject({ out: "halted\n" });
    const orders = await run([
      "call",
      "ListOrders",
      "--set",
      `filter.partyIds=${publicKey}`,
      "--set",
      "filter.liveOnly=true",
      "--all",
      "--grpc-url",
      node.grpcUrl,
    ]);
    expect(orders.out).toBe("");
  });
});

describe("what is refused before a signer listens", () => {
  test("a missing policy or socket", async () => {
    expect(await run(["signer", "--listen", socket])).toMatchObject({
      code: 2,
      err: expect.stringContaining("a signer needs a policy and a socket"),
    });
  });

  test("a policy that others can change, that is no JSON, or that is not there", async () => {
    const path = join(folder, "policy.json");
    await chmod(path, 0o622);
    expect(await run(args)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not read: everyone can write to it"),
    });
    await rm(path);
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining("no such file") });
    await writePrivately(folder, "policy.json", "{");
    expect(await run(args)).toMatchObject({ code: 2, err: expect.stringContaining("not valid JSON") });
    await rm(path);
    await writePrivately(folder, "policy.json", "");
    expect(await run(args)).toMatchObject({ code: 2, err: expect.stringContaining("is empty") });
    expect(await run(["signer", "--policy", folder, ...args.slice(3)])).toMatchObject({
      code: 1,
      err: expect.stringContaining("not a file"),
    });
  });

  test("a chain that is not the node's", async () => {
    expect(await run([...args, "--chain-id", "other"])).toMatchObject({
      code: 2,
      err: expect.stringContaining('the node is on chain "tradewire-devnet"'),
    });
  });

  test("a socket on which another signer listens", async () => {
    await startSigner();
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining("listens on") });
  });

  test("an unknown subcommand", async () => {
    expect(await run(["signer", "halt", socket])).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown command 'halt'"),
    });
  });
});
