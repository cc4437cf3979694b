import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { signerFromSeed } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Running, run, startCommand } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { writePrivately } from "../support/private-file.js";
import { submitOrder, useSignerFolder } from "../support/signer-socket.js";
import { seed } from "../support/transactions.js";

const { publicKey } = signerFromSeed(seed);
const market = { maxSize: "100", maxNotional: "1000000", maxPosition: "10000" };
const policy = { mode: "active", maxOrdersPerMinute: 100, markets: { [openMarket]: market } };

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 50 });
});
afterAll(() => node.close());

const running: Running[] = [];
afterEach(async () => {
  for (const { interrupt, ended } of running.splice(0)) {
    interrupt("SIGTERM");
    await ended;
  }
});

const at = useSignerFolder();
let args: string[];
beforeEach(async () => {
  const keyFile = await writePrivately(at.folder, "key", `${seed}\n`);
  const policyFile = await writePrivately(at.folder, "policy.json", JSON.stringify(policy));
  args = ["signer", "--policy", policyFile, "--key-file", keyFile, "--socket", at.socket, "--grpc-url", node.grpcUrl];
});
/** Starts a signer, and waits until it is ready. */
async function startSigner(...more: readonly string[]): Promise<Running> {
  const signer = startCommand([...args, ...more]);
  running.push(signer);
  await signer.firstLine;
  return signer;
}

const submit = (size: string, ...more: readonly string[]) => submitOrder(at, node, size, ...more);

describe("a signer", () => {
  test("says who it is, signs, and ends in order", async () => {
    const signer = await startSigner("--admin-socket", at.admin, "-o", "table");
    expect(await signer.firstLine).toBe(
      `Signing with ${publicKey} for chain tradewire-devnet, active, by ${join(at.folder, "policy.json")}, on ${at.socket}, ${at.admin} for the operator.`,
    );
    expect(await submit("1", "--wait", "-o", "table")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^executed in block \d+/m),
    });
    signer.interrupt("SIGTERM");
    const { code, out, err } = await signer.ended;
    expect(code).toBe(0);
    expect(out + err).not.toContain(seed);
    expect((await readdir(at.folder)).sort()).toEqual(["1.json", "key", "policy.json"]);
  });

  test("refuses what the policy does not allow, and prints it", async () => {
    const signer = await startSigner();
    expect(JSON.parse(await signer.firstLine)).toMatchObject({
      event: "ready",
      publicKey,
      socket: at.socket,
      mode: "active",
    });
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
    await startSigner("--admin-socket", at.admin);
    expect(await run(["signer", "mode", at.socket, "-o", "table"])).toMatchObject({ code: 0, out: "active\n" });
    expect(await run(["signer", "mode", at.socket, "halted", "--json"])).toMatchObject({
      code: 0,
      out: '{"mode":"halted"}\n',
    });
    expect(await submit("1")).toMatchObject({ code: 2, out: "" });
    const loosened = await run(["signer", "mode", at.socket, "active"]);
    expect(loosened).toMatchObject({ code: 2, err: expect.stringContaining("programs cannot change it to active") });
    expect(await run(["signer", "mode", at.admin, "active"])).toMatchObject({ code: 0, out: '{"mode":"active"}\n' });
    expect(await submit("1")).toMatchObject({ code: 0 });
  });

  test("cancels all orders by the kill switch", async () => {
    await startSigner();
    expect(await submit("1", "--wait")).toMatchObject({ code: 0 });
    const killed = await run(["signer", "kill", at.socket, "--json"]);
    expect(killed).toMatchObject({ code: 0 });
    expect(await run(["signer", "mode", at.socket, "-o", "table"])).toMatchObject({ out: "halted\n" });
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

  test("ends as a failure when its --timeout is up", async () => {
    expect(await run([...args, "--timeout", "2s"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("tradewire: the command did not end within 2000 ms\n"),
    });
  });
});

describe("what is refused before a signer listens", () => {
  test("a missing policy or socket", async () => {
    expect(await run(["signer", "--socket", at.socket])).toMatchObject({
      code: 2,
      err: expect.stringContaining("a signer needs a policy and a socket"),
    });
  });

  test("a policy that others can change, that is no JSON, or that is not there", async () => {
    const path = join(at.folder, "policy.json");
    await chmod(path, 0o622);
    expect(await run(args)).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not trusted: everyone can write to it"),
    });
    await rm(path);
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining("file not found") });
    await writePrivately(at.folder, "policy.json", "{");
    expect(await run(args)).toMatchObject({ code: 2, err: expect.stringContaining("not valid JSON") });
    await rm(path);
    const twice = JSON.stringify(policy).replace("{", '{"maxOrdersPerMinute":1,');
    await writePrivately(at.folder, "policy.json", twice);
    expect(await run(args)).toMatchObject({
      code: 2,
      err: expect.stringContaining('the name "maxOrdersPerMinute" occurs twice in one object'),
    });
    await rm(path);
    await writePrivately(at.folder, "policy.json", "");
    expect(await run(args)).toMatchObject({ code: 2, err: expect.stringContaining("is empty") });
    expect(await run(["signer", "--policy", at.folder, ...args.slice(3)])).toMatchObject({
      code: 1,
      err: expect.stringContaining("not a regular file"),
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
    expect(await run(args)).toMatchObject({ code: 1, err: expect.stringContaining("is already listening on") });
  });

  test("an unknown subcommand", async () => {
    expect(await run(["signer", "halt", at.socket])).toMatchObject({
      code: 2,
      err: expect.stringContaining("unknown command 'halt'"),
    });
  });
});
