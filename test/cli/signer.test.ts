import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { RequestError, serveSigner } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { testGuard } from "../support/served-signer.js";
import { submitOrder, useSignerFolder } from "../support/signer-socket.js";
import { sender } from "../support/transactions.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 50 });
});
afterAll(() => node.close());

const at = useSignerFolder();
const startSigner = (guard = testGuard(sender)) =>
  serveSigner({ guard, chainId: "tradewire-devnet", listen: at.socket, admin: at.admin });

const submit = (size: string, ...more: readonly string[]) => submitOrder(at, node, size, ...more);

test("a command is signed by a signer process", async () => {
  await using _ = await startSigner();
  const sent = await submit("1", "--wait", "-o", "table");
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
  expect(await run(["signer", "mode", at.socket, "-o", "table"])).toMatchObject({ code: 0, out: "active\n" });
  expect(await run(["signer", "mode", at.socket, "halted", "--json"])).toMatchObject({
    code: 0,
    out: '{"mode":"halted"}\n',
  });
  const loosened = await run(["signer", "mode", at.socket, "active"]);
  expect(loosened).toMatchObject({ code: 2, err: expect.stringContaining("programs cannot change it to active") });
  expect(await run(["signer", "mode", at.admin, "active"])).toMatchObject({ code: 0, out: '{"mode":"active"}\n' });
});

test("the kill switch prints what was observed", async () => {
  await using _ = await startSigner();
  expect(await run(["signer", "kill", at.socket, "-o", "table"])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^No orders remain\.\n/),
  });
  expect(await run(["signer", "mode", at.socket, "-o", "table"])).toMatchObject({ out: "halted\n" });
});

test("a socket without a signer is an error that says that nothing was sent", async () => {
  expect(await submit("1")).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/no signer is listening on .*\n.*Nothing was sent/),
  });
});
