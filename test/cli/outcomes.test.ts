// Slow, and worth it: the command waits for real blocks, which come ten times a second.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { serveTcp } from "../support/node.js";
import { writePrivately } from "../support/private-file.js";
import { market, seed } from "../support/transactions.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

let node: Devnode;
let folder: string;
let signing: string[];
let over: string[];
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 100 });
  over = ["--transport", "rest", "--rest-url", node.restUrl];
  folder = await mkdtemp(join(tmpdir(), "tradewire-outcomes-"));
  signing = ["--key-file", await write("key", `${seed}\n`), ...over];
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const write = (name: string, content: string) => writePrivately(folder, name, content);

const order = (marketId: string) => ({
  marketId,
  size: "1",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
  price: "1",
});

/** An order that the node takes, and rejects when it executes it. */
const expired = { ...order(market), timeInForce: "TIME_IN_FORCE_GTT", expiresAt: "1" };

describe("submit --wait", () => {
  test("prints what became of a command, and exits with 0 only where all of it was carried out", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    const executed = await run(["submit", good, "--wait", "-o", "table", ...signing]);
    expect(executed).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^Submitting [0-9A-F]{64} to http:\S+, chain tradewire-devnet, signed by [0-9a-f]{64}\.\n {2}orderSubmission\n( {2}\w+ .*\n)+Waiting up to \S+ \S+ for its outcome, at most until block \d+\.\n$/,
      ),
    });
    expect(executed.out).toMatch(/^[0-9A-F]{64}\nexecuted in block \d+\n {2}order [0-9a-f]{64}: executed\n$/);

    const bad = await write("bad.json", JSON.stringify({ orderSubmission: expired }));
    const failed = await run(["submit", bad, "--wait=30s", "-o", "table", ...signing]);
    expect(failed).toMatchObject({ code: 1, err: expect.stringMatching(/^Submitting .*\n( {2}.*\n)+$/) });
    expect(failed.out).toMatch(/\nfailed in block \d+: invalid expiresAt time\n/);

    const submissions = [order(market), expired];
    const mixed = await write("mixed.json", JSON.stringify({ batchMarketInstructions: { submissions } }));
    const partial = await run(["submit", mixed, "--wait", ...signing]);
    expect(partial).toMatchObject({ code: 1, err: expect.stringMatching(/^Submitting .*\n( {2}.*\n)+Waiting .*\n$/) });
    expect(JSON.parse(partial.out)).toMatchObject({
      tid: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: "partial",
      block: expect.stringMatching(/^\d+$/),
      parts: [
        { path: "submissions[0]", status: "executed" },
        { path: "submissions[1]", status: "failed", reason: "invalid expiresAt time" },
      ],
    });
  });

  test("exits with 3 where what became of it is not known", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    // The node does not take it, and its answer does not say so.
    node.failNext({ method: "SubmitTransaction", with: "UNAVAILABLE" });
    // Some blocks after the last one that could take it, which come later, its absence would be a proof.
    const unknown = await run(["submit", good, "--wait=9s", "-o", "table", ...signing]);
    expect(unknown).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^Submitting [0-9A-F]{64} to .*\n( {2}.*\n)+$/),
    });
    expect(unknown.out).toMatch(/\nunknown: its result did not arrive in time\n/);
    expect(unknown.out).toMatch(/\n {2}order: none\n {2}spam statistics: block \d+ was used by 0 /);
  });

  test("ends in its time where the server is silent, and says that nothing was sent", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    await using silent = await serveTcp(() => undefined);
    const node = ["--transport", "rest", "--rest-url", silent.url];
    using runtime = useVirtualRuntime({ io: true });
    const startedAt = runtime.monotonicMs();
    const submitting = run(["submit", good, "--wait=1s", "--key-file", join(folder, "key"), ...node]);
    const unsent = await runtime.until(submitting);
    expect(runtime.monotonicMs() - startedAt).toBeLessThan(10_000); // A call alone may take half a minute.
    expect(unsent).toMatchObject({ code: 1, out: "" });
    expect(unsent.err).toMatch(/the deadline of 1000 ms passed before the transaction was sent\nNothing was sent\. /);
  });

  test("says that nothing was sent where the events cannot be had", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    for (const service of ["datanode.api.v2.TradingDataService", "vega.api.v1.CoreService"]) {
      node.failNext({ method: `${service}/ObserveEventBus`, with: "UNIMPLEMENTED", times: 1 });
    }
    const unsent = await run(["submit", good, "--wait=30s", ...signing]);
    expect(unsent).toMatchObject({ code: 1, out: "" });
    expect(unsent.err).toMatch(
      /^Submitting [0-9A-F]{64} to .*\n( {2}.*\n)+Nothing was sent\.\ntradewire: the node offers no stream of events/,
    );
  });

  test("does not go with what does not send", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    const refused = await run(["submit", good, "--wait", "--dry-run", ...signing]);
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining("--wait") });
    const wrong = await run(["submit", good, "--wait=soon", ...signing]);
    expect(wrong).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining('tradewire: --wait must be a duration, such as 500ms, 30s, 2m or 1h (got "soon")'),
    });
    const swapped = await run(["submit", "--wait", good, ...signing]);
    expect(swapped).toMatchObject({ code: 2, out: "", err: expect.stringContaining("put --wait after the argument") });
  });
});

describe("outcome", () => {
  test("finds what a transaction brought that was submitted without waiting, by the signed transaction", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    const file = await write("signed.json", (await run(["sign", good, ...signing])).out);
    const submitted = await run(["submit", file, "--json", ...over]);
    expect(submitted.code).toBe(0);
    const { txHash } = JSON.parse(submitted.out);
    await node.makeBlock();
    await node.makeBlock(); // The observer of results opens behind the block of the transaction.
    const at = ["--wait=60s", "--transport", "grpc", "--grpc-url", node.grpcUrl];
    const { code, out, err } = await run(["outcome", "--signed", file, ...at, "-o", "table"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(new RegExp(`^${txHash}\\nexecuted( in block \\d+)?, by its records\\n`));
    const json = await run(["outcome", "--signed", file, ...at, "--json"]);
    expect(JSON.parse(json.out)).toMatchObject({ status: "executed", evidence: "records" });
    const byHash = await run(["outcome", txHash, ...at, "-o", "table"]);
    expect(byHash.code).toBe(3); // It may be a batch, by its hash.
    expect(byHash.out).toMatch(
      /\nunknown: .* use the signed transaction instead of the hash \(`tradewire outcome --signed FILE`/,
    );
    expect(byHash.out).toMatch(/\n {2}records: 1 orders.*; order [0-9a-f]{64} is STATUS_ACTIVE\n/);
  });

  test("neither looks for nor sends a transaction whose signature is of another", async () => {
    const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
    const { tx, ...request } = JSON.parse((await run(["sign", good, ...signing])).out);
    const inputData = Buffer.from(tx.inputData, "base64");
    inputData.writeUInt8(inputData.readUInt8(inputData.length - 1) ^ 1, inputData.length - 1);
    const forged = { ...request, tx: { ...tx, inputData: inputData.toString("base64") } };
    const file = await write("forged.json", JSON.stringify(forged));
    for (const args of [
      ["outcome", "--signed", file],
      ["submit", file, "--wait"],
    ]) {
      const { code, out, err } = await run([...args, ...over]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toMatch(/signature does not match its input data/);
      expect(err).not.toContain("Submitting");
    }
  });

  test("says what was looked at where nothing tells of the transaction, with exit code 3", async () => {
    const { code, out, err } = await run(["outcome", "ab".repeat(32), "--wait=10s", "-o", "table", ...over]);
    expect({ code, err }).toEqual({ code: 3, err: "" });
    expect(out).toMatch(
      /^(AB){32}\nunknown: the results of blocks up to \d+ may be missing, and none that arrived belongs to this transaction\n {2}events: .*\n {2}records: .*\n {2}last block: the last block is \d+\n {2}data node: .*\n$/,
    );
  });

  test("ends in its time where the server is silent", async () => {
    await using silent = await serveTcp(() => undefined);
    using runtime = useVirtualRuntime({ io: true });
    const startedAt = runtime.monotonicMs();
    const args = ["outcome", "ab".repeat(32), "--wait=1s", "--chain-id", "tradewire-devnet", "-o", "table"];
    const { code, out } = await runtime.until(run([...args, "--transport", "rest", "--rest-url", silent.url]));
    expect(runtime.monotonicMs() - startedAt).toBeLessThan(4_000); // A look alone may take five seconds.
    expect(code).toBe(3);
    expect(out).toContain("\n  records: could not be read: ");
  });

  test("refuses what is no hash", async () => {
    const refused = await run(["outcome", "abc", "--json", ...over]);
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.out)).toMatchObject({
      error: {
        message: expect.stringContaining("transaction must be its hash of 64 hex digits, or a signed transaction"),
      },
    });
  });
});

test("submit --check of a transaction that was executed names its hash", async () => {
  const good = await write("good.json", JSON.stringify({ orderSubmission: order(market) }));
  const { out: signed } = await run(["sign", good, ...signing]);
  const file = await write("signed.json", signed);
  const { out: submitted } = await run(["submit", file, "--wait=30s", ...over]);
  const { txHash: hash } = JSON.parse(submitted);
  const checked = await run(["submit", file, "--check", "--yes", ...over]);
  expect(checked).toMatchObject({ code: 1, out: "" });
  expect(checked.err).toContain(`Run \`tradewire outcome ${hash}\` to look for its outcome`);
});
