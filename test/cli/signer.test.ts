import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { RequestError, serveSigner } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { writePrivately } from "../support/private-file.js";
import { testGuard } from "../support/served-signer.js";
import { sender } from "../support/transactions.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 50 });
});
afterAll(() => node.close());

let folder: string;
let socket: string;
let admin: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-signer-"));
  [socket, admin] = [join(folder, "s.sock"), join(folder, "admin.sock")];
});
afterEach(() => rm(folder, { recursive: true }));

const startSigner = (guard = testGuard(sender)) =>
  serveSigner({ guard, chainId: "tradewire-devnet", listen: socket, admin });

/** Writes an order of a size, and submits it through the signer. */
async function submit(size: string, ...more: readonly string[]) {
  const orderSubmission = { marketId: openMarket, price: "1", size, side: 1, timeInForce: 1, type: 1 };
  const file = await writePrivately(folder, `${size}.json`, JSON.stringify({ orderSubmission }));
  return run(["submit", file, "--signer", socket, "--grpc-url", node.grpcUrl, ...more]);
}

test("a command is signed by a signer process", async () => {
  await using _ = await startSigner();
  const sent = await submit("1", "--wait");
  expect(sent).toMatchObject({ code: 0, out: expect.stringMatching(/^executed in block \d+/m) });
  expect(sent.err).toContain(`signed by ${sender.publicKey}`);
});

test("what a signer process refuses is not sent", async () => {
  const guard = testGuard(sender, () => Promise.reject(new RequestError("the policy refuses it", { advice: "No." })));
  await using _ = await startSigner(guard);
  expect(await submit("1")).toMatchObject({ code: 2, out: "", err: expect.stringContaining("the policy refuses it") });
  expect(JSON.parse((await submit("1", "--json")).out)).toMatchObject({ error: { message: "the policy refuses it" } });
});

test("a signer process and a key file exclude each other", async () => {
  expect(await submit("1", "--key-file", "key")).toMatchObject({
    code: 2,
    err: expect.stringContaining("cannot be used"),
  });
});

test("a signer process is halted by anyone who can use it, and set free by the operator", async () => {
  await using _ = await startSigner();
  expect(await run(["signer", "mode", socket])).toMatchObject({ code: 0, out: "active\n" });
  expect(await run(["signer", "mode", socket, "halted", "--json"])).toMatchObject({
    code: 0,
    out: '{"mode":"halted"}\n',
  });
  const loosened = await run(["signer", "mode", socket, "active"]);
  expect(loosened).toMatchObject({ code: 2, err: expect.stringContaining("a program cannot change it to active") });
  expect(await run(["signer", "mode", admin, "active"])).toMatchObject({ code: 0, out: "active\n" });
});

test("the kill switch prints what was observed", async () => {
  await using _ = await startSigner();
  expect(await run(["signer", "kill", socket])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^No order is left\.\n/),
  });
  expect(await run(["signer", "mode", socket])).toMatchObject({ out: "halted\n" });
});

test("a socket without a signer is an error that says that nothing was sent", async () => {
  expect(await submit("1")).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/no signer listens on .*\n.*Nothing was sent/),
  });
});
