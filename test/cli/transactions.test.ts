import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Outcome, run, startCommand } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { market, seed, sender } from "../support/transactions.js";

/** One node for all. It makes blocks when it is told to: a slow machine does not age what was signed. */
let node: Devnode;
let folder: string;
let keyFile: string;
let commandFile: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-submit-"));
  keyFile = await write("key", `${seed}\n`);
  commandFile = await write(
    "command.json",
    JSON.stringify({ stopOrdersSubmission: { risesAbove: stopOrder("9999999") } }),
  );
});
beforeEach(async () => {
  await node.makeBlock(); // Each block serves only so many transactions of a key.
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

function stopOrder(price: string) {
  const orderSubmission = {
    marketId: openMarket,
    size: "10",
    side: "SIDE_SELL",
    timeInForce: "TIME_IN_FORCE_IOC",
    type: "TYPE_MARKET",
    reduceOnly: true,
  };
  return { orderSubmission, price };
}

async function write(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

function over(transport: "grpc" | "grpc-js" | "rest"): string[] {
  return transport === "rest"
    ? ["--transport", transport, "--rest-url", node.restUrl]
    : ["--transport", transport, "--grpc-url", node.grpcUrl];
}

describe("tradewire keys", () => {
  test("makes a key file that its owner alone may read, and shows the public key alone", async () => {
    const path = join(folder, "new-key");
    const made = await run(["keys", "new", path, "-o", "table"]);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^[0-9a-f]{64}\n$/) });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await run(["keys", "show", path, "-o", "table"])).toEqual({ code: 0, out: made.out, err: "" });
    expect(JSON.parse((await run(["keys", "show", path])).out)).toEqual({ publicKey: made.out.trim() });
    const content = (await readFile(path, "latin1")).trim();
    expect(made.out + made.err).not.toContain(content);
    const again = await run(["keys", "new", path]);
    expect(again).toMatchObject({ code: 1, out: "", err: expect.stringContaining("file already exists") });
    expect((await readFile(path, "latin1")).trim()).toBe(content);
  });

  test("refuses one that others may read", async () => {
    const path = await write("open-key", seed);
    await chmod(path, 0o644);
    const shown = await run(["keys", "show", path]);
    expect(shown).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("(mode 644)\nIf others may have read this key"),
    });
    expect(shown.err).not.toContain(seed);
  });
});

describe.each(["grpc", "grpc-js", "rest"] as const)("over %s", (transport) => {
  test("a stop order is submitted, and listed", async () => {
    // A key of its own, for a party may have only so many stop orders on a market.
    const key = join(folder, `key-${transport}`);
    const party = JSON.parse((await run(["keys", "new", key])).out).publicKey;
    // Without an order or a position, the stop order would be rejected.
    const orderSubmission = { marketId: market, price: "1", size: "1", side: 1, timeInForce: 1, type: 1 };
    const orderFile = await write("order.json", JSON.stringify({ orderSubmission }));
    expect(await run(["submit", orderFile, "--key-file", key, ...over(transport)])).toMatchObject({ code: 0 });
    await node.makeBlock();
    const submit = startCommand([
      ...["submit", commandFile, "--key-file", key, "--reply", "commit", "-o", "table"],
      ...over(transport),
    ]);
    let waiting = true;
    const ended = submit.ended.finally(() => {
      waiting = false;
    });
    // Blocks are paced: made as fast as possible, a hundred of them would age out the transaction while it is signed.
    while (waiting) {
      await node.makeBlock();
      await Promise.race([ended, after(200)]);
    }
    const sent = await ended;
    expect(sent).toEqual({
      code: 0,
      out: expect.stringMatching(/^[0-9A-F]{64}\n$/),
      err: expect.stringMatching(
        /^Submitting .*\n {2}stopOrdersSubmission\n( {2}risesAbove\..*\n)+Accepted into the mempool\.\n$/,
      ),
    });
    const listed = await run(["stop-orders", "--party", party, "--json", ...over(transport)]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toContain(`"partyId":"${party}"`);
    expect(listed.out).toContain('"status":"PENDING"');
  });

  test("what was signed is verified, checked, refused while the node has seen it, and submitted", async () => {
    const signed = await run(["sign", commandFile, "--key-file", keyFile, ...over(transport)]);
    const url = transport === "rest" ? node.restUrl : node.grpcUrl;
    expect(signed).toMatchObject({
      code: 0,
      err: expect.stringContaining(`Signing with key ${sender.publicKey} for chain tradewire-devnet, node ${url}.\n`),
    });
    const body = JSON.parse(signed.out);
    expect(body).toMatchObject({
      tx: {
        pubKey: sender.publicKey,
        version: "TX_VERSION_V3",
        signature: { algo: "vega/ed25519", version: 1 },
        pow: { nonce: expect.stringMatching(/^\d+$/) },
      },
      type: "TYPE_SYNC",
    });
    const file = await write(`signed-${transport}.json`, signed.out);
    const valid = await run(["verify", file, "-o", "table", ...over(transport)]);
    expect(valid).toEqual({
      code: 0,
      err: "",
      out: expect.stringMatching(/^Valid: signature for chain tradewire-devnet, .*[0-9a-f]{64}\.\n$/),
    });
    const unasked = await run(["submit", "--check", file, ...over(transport)]);
    expect(unasked).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/uses up this signed transaction.*\n.*--yes/),
    });
    expect(await run(["submit", "--check", "--yes", file, "-o", "table", ...over(transport)])).toMatchObject({
      code: 0,
      out: "The node would accept it.\n",
    });
    // The node has seen its proof of work, until the next block.
    const again = await run(["submit", file, "--json", ...over(transport)]);
    expect(again).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^Submitting [0-9A-F]{64} to http\S+, chain tradewire-devnet, signed by [0-9a-f]{64}\.\n( {2}.*\n)+$/,
      ),
    });
    expect(JSON.parse(again.out)).toMatchObject({
      error: {
        name: "TransactionError",
        result: { success: false, code: 89 },
        data: "proof of work tid already seen by the node",
      },
    });
    await node.makeBlock();
    expect(await run(["submit", file, ...over(transport)])).toMatchObject({ code: 0 });
    const { out: unsent } = await run(["sign", commandFile, "--key-file", keyFile, ...over(transport)]);
    const later = await write(`later-${transport}.json`, unsent);
    await node.makeBlock();
    // A node gives the hashes of its last block, and of those that have a transaction of the key: `core/pow/engine.go`.
    expect(await run(["verify", later, "-o", "table", ...over(transport)])).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /^Signature .* are valid\.\nThe proof of work could not be checked: the node reports /,
      ),
    });
    const asJson = await run(["verify", later, ...over(transport)]);
    expect(JSON.parse(asJson.out)).toMatchObject({ valid: null, unchecked: { path: "tx.pow" } });
    const tampered = { ...body, tx: { ...body.tx, signature: { ...body.tx.signature, value: "00".repeat(64) } } };
    const bad = await run([
      "verify",
      await write(`bad-${transport}.json`, JSON.stringify(tampered)),
      ...over(transport),
    ]);
    expect(bad).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("tx.signature.value must be a signature"),
    });
  });
});

test("a dry run prints the request and sends nothing", async () => {
  const dry = await run(["submit", "--dry-run", commandFile, "--key-file", keyFile, ...over("rest")]);
  expect(dry.code).toBe(0);
  const file = await write("dry.json", dry.out);
  expect(await run(["submit", file, ...over("rest")])).toMatchObject({ code: 0 });
});

test.each([
  ["{", "not valid JSON"],
  ["[]", "not a JSON object"],
  ["{}", "no command"],
  ['{"stopOrders": {}}', 'unknown command "stopOrders"\nDid you mean stopOrdersSubmission?'],
  ['{"foo": {}}', 'unknown command "foo"\nWrite one command in Protobuf JSON'],
  [
    '{"market": "M0", "side": "BUY", "size": "1"}',
    'unknown command "market"\nThe fields of a command go inside its name: {"orderSubmission": {"market": …}}.',
  ],
  ['{"assetSymbol": "USDT", "to": "x"}', '{"transfer": {"assetSymbol": …}}'],
  [
    '{"orderCancellation": {}, "orderSubmission": {}}',
    "a file holds one command, but this one has orderCancellation and orderSubmission\n",
  ],
  ['{"nonce": "1", "stopOrdersCancellation": {}}', "blockHeight and nonce are not part of a command"],
  ['{"orderSubmission": {"size": "0x10"}}', 'size must be a whole number (got "0x10")'],
  ['{"orderSubmission": {"size": "0b11"}}', "size must be a whole number"],
  ['{"orderSubmission": {"size": " 5 "}}', "size must be a whole number"],
  ['{"orderSubmission": {"size": "1", "size": "100"}}', 'the name "size" occurs twice'],
  ['{"orderSubmission": {"marketId": "a", "market_id": "b"}}', "marketId and market_id are the same field"],
  ['{"tx": {"pow": {"nonce": "0x10"}}}', "nonce must be a whole number"],
  ['{"stopOrdersSubmission": {}}', "stopOrdersSubmission must contain risesAbove, fallsBelow or"],
])("a file of %s is refused: %s", async (content, reason) => {
  const outcome = await run(["submit", await write("wrong.json", content), ...over("rest")]);
  expect(outcome).toMatchObject({ code: 2, out: "", err: expect.stringContaining(reason) });
});

test("without a key nothing is signed", async () => {
  const outcome = await run(["submit", commandFile, ...over("rest")]);
  expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining("no signing key is set") });
});

describe("nothing of a failing submit holds the seed", () => {
  test.each([
    ["refused", []],
    ["as JSON", ["--json"]],
  ])("with the seed in the environment, %s: output and error", async (_, more) => {
    const args = ["submit", commandFile, "--chain-id-prefix", "signature-only", ...over("rest"), ...more];
    const outcome = await run(args, { environment: { TRADEWIRE_SEED: seed } });
    expect(outcome.code).toBe(1);
    expectNoSeed(outcome);
  });

  test.each([seed.slice(1), `${seed}0`, `0x${seed}`])("with a seed that is none: %s", async (wrong) => {
    const environment = { TRADEWIRE_SEED: wrong };
    const inEnvironment = await run(["submit", commandFile, ...over("rest")], { environment });
    expect(inEnvironment).toMatchObject({ code: 2, err: expect.stringContaining("TRADEWIRE_SEED: the seed must") });
    expectNoSeed(inEnvironment);
    const inFile = await run(["submit", commandFile, "--key-file", await write("bad-key", wrong), ...over("rest")]);
    expect(inFile).toMatchObject({ code: 1, err: expect.stringContaining("not a key file") });
    expectNoSeed(inFile);
  });

  test("with the key file in the place of the command", async () => {
    const outcome = await run(["submit", keyFile, "--key-file", keyFile, ...over("rest")]);
    expect(outcome.code).toBe(2);
    expectNoSeed(outcome);
  });
});

/** Neither the seed, nor a good part of it, in any form. */
function expectNoSeed({ out, err }: Outcome): void {
  const bytes = Buffer.from(seed, "hex");
  for (const form of [seed.slice(8, 40), bytes.toString("base64").slice(4, 28), bytes.join(",").slice(8, 40)]) {
    expect((out + err).toLowerCase()).not.toContain(form.toLowerCase());
  }
}
