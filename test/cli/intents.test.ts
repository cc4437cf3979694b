import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { run } from "../support/command.js";
import { committed } from "../support/committed.js";
import { writePrivately } from "../support/private-file.js";
import { market, seed } from "../support/transactions.js";

let node: Devnode;
let folder: string;
let keyFile: string;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 30 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-intents-"));
  keyFile = await writePrivately(folder, "key", `${seed}\n`);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await node[Symbol.asyncDispose]();
});

/** Runs `submit` with an order of a reference. */
async function submit(reference: string, ...args: readonly string[]) {
  const orderSubmission = { marketId: market, price: "1", size: "1", side: 1, timeInForce: 1, type: 1, reference };
  await writeFile(join(folder, "order.json"), JSON.stringify({ orderSubmission }));
  return run(["submit", join(folder, "order.json"), "--grpc-url", node.grpcUrl, "--key-file", keyFile, ...args]);
}

const journal = () => ["--journal", join(folder, "orders.journal")];

test("an intent is executed once, however often its command is repeated", async () => {
  const first = await submit("once", ...journal(), "--intent", "one", "-o", "table");
  expect(first).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^executed in block \d+ \(result\)\n[0-9A-F]{64}\n {2}order [0-9a-f]{64}: executed\n$/),
  });
  expect(await submit("once", ...journal(), "--intent", "one", "-o", "table")).toEqual(first);
  const asJson = await submit("once", ...journal(), "--intent", "one", "--json");
  const settled = JSON.parse(asJson.out);
  expect(settled).toMatchObject({ id: "one", status: "executed", evidence: "result" });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  await committed(client);
  const { orders } = await client.service(TradingDataService).listOrders({ filter: { reference: "once" } });
  expect(orders?.edges.map((edge) => edge.node?.id)).toEqual([settled.orderId]);
  expect((await readFile(join(folder, "orders.journal"), "utf8")).trimEnd().split("\n")).toHaveLength(2);
});

test("an intent that the node refuses says what to do", async () => {
  const args = [...journal(), "--intent", "refused", "--profile", "deployed"];
  const advice = "Use --profile specification";
  const refused = { code: 1, out: expect.stringMatching(/^failed \(refusal\): .+code 60/) };
  const first = await submit("refused", ...args, "-o", "table");
  expect(first).toMatchObject({ ...refused, err: expect.stringContaining(advice) });
  const { out } = await submit("refused", ...args, "--json");
  expect(JSON.parse(out)).toMatchObject({ refusal: "profile", advice: expect.stringContaining(advice) });
});

test.each([
  [["--intent", "one"], "--journal and --intent must be used together"],
  [["--journal", "x"], "--journal and --intent must be used together"],
  [["--journal", "x", "--intent", "one", "--wait"], "cannot be used with"],
])("an intent with %j is refused", async (args, problem) => {
  expect(await submit("none", ...args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(problem) });
});
