// Hash, tid and nonce each keep a transaction from being executed twice while it could be valid (v0.78.0, `verifyWithLock` in
// core/pow/engine.go), so the same transaction may be sent again, and another one only when it can no longer be taken.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  type Client,
  createClient,
  type Journal,
  OutcomeUnknownError,
  openFileJournal,
  RequestError,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { GetVegaTimeResponseSchema, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import {
  LastBlockHeightResponseSchema,
  SubmitTransactionRequestSchema,
  SubmitTransactionResponseSchema,
} from "tradewire/gen/vega/api/v1/core_pb.js";
import type { StopOrdersSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import {
  AccountType,
  Order_TimeInForce,
  Order_Type,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_Status,
} from "tradewire/gen/vega/vega_pb.js";
import { transactionHash } from "tradewire/transaction";
import { committed } from "../../support/committed.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket, ownAsset } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { type CommandFields, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-intents-"));
});
afterEach(() => rm(folder, { recursive: true }));

const order = (reference: string, more: object = {}) => ({
  case: "orderSubmission" as const,
  value: {
    marketId: openMarket,
    size: 1n,
    side: Side.BUY,
    timeInForce: Order_TimeInForce.GTC,
    type: Order_Type.LIMIT,
    price: "1",
    reference,
    ...more,
  },
});

/** A stop order that waits. */
function risesAbove() {
  const { case: kind, value } = stopOrder("9000001");
  return kind === "stopOrdersSubmission" ? value.risesAbove : undefined;
}

const clientOf = (node: Devnode, url = node.grpcUrl) =>
  createClient({ transport: "grpc", grpc: { url }, retry: { baseMs: 10, maxMs: 50 } });

/** How many orders that were executed so far have a reference. */
async function countOrders(client: Client, reference: string): Promise<number> {
  return (await orderIds(client, reference)).length;
}

async function orderIds(client: Client, reference: string): Promise<(string | undefined)[]> {
  await committed(client);
  const { orders } = await client.service(TradingDataService).listOrders({ filter: { reference } });
  return orders?.edges.map(({ node }) => node?.id) ?? [];
}

const journalFile = () => openFileJournal(join(folder, "orders.journal"));

/** Starts a node, and the intents of one of its keys with a journal. */
async function start(blockMs = 30) {
  const node = await startDevnode({ blockMs });
  const client = clientOf(node);
  const signer = await signerFromMnemonic(node.mnemonic);
  const journal = await journalFile();
  const intents = client.intents({ signer, journal });
  return {
    node,
    client,
    journal,
    intents,
    async [Symbol.asyncDispose]() {
      intents.close();
      await journal[Symbol.asyncDispose]();
      signer[Symbol.dispose]();
      await client.close();
      await node.close();
    },
  };
}

/**
 * Submits commands as intents, and ends as if the process did, before it has seen an outcome; the intent `unsent` is written to
 * the journal, but not sent.
 */
async function crash(
  node: Devnode,
  signer: Signer,
  commands: Readonly<Record<string, CommandFields>>,
  isExecuted: (client: Client) => Promise<boolean>,
): Promise<void> {
  await using client = clientOf(node);
  await using file = await journalFile();
  const written = new Set<string>();
  let end = (_: boolean) => {};
  const ended = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  const journal: Journal = {
    ...file,
    async append(id, entry, place) {
      if (place.position > 0) {
        return false;
      }
      await file.append(id, entry, place);
      written.add(id);
      return id === "unsent" ? ended : true;
    },
  };
  const intents = client.intents({ signer, journal });
  const submitted = Object.entries(commands).map(([id, command]) =>
    intents.submit(command, { id }).catch(() => undefined),
  );
  await eventually(async () => written.size === submitted.length && (await isExecuted(client)));
  intents.close();
  end(false);
  await Promise.all(submitted);
}

describe("an intent", () => {
  it("is executed once, and repeated by its identifier without being sent", async () => {
    await using started = await start();
    const { client, journal, intents } = started;
    const first = await intents.submit(order("one"), { id: "one" });
    expect(first).toEqual({
      id: "one",
      status: "executed",
      txHash: expect.stringMatching(/^[0-9A-F]{64}$/),
      block: expect.any(BigInt),
      evidence: "result",
      reason: undefined,
      orderId: expect.stringMatching(/^[0-9a-f]{64}$/),
      parts: [{ path: "", status: "executed", reason: undefined, brings: "order", id: first.orderId }],
    });
    const again = await intents.submit(order("one"), { id: "one" });
    expect(again).toStrictEqual(first);
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
    expect(await orderIds(client, "one")).toEqual([first.orderId]);
    expect((await journal.read("one")).map((entry) => JSON.parse(entry).kind)).toEqual(["intent", "executed"]);
  });

  it("keeps its identifier to itself", async () => {
    await using started = await start();
    const { client, intents } = started;
    await intents.submit(order("one"), { id: "one" });
    await expect(intents.submit(order("other"), { id: "one" })).rejects.toMatchObject({
      name: "RequestError",
      summary: 'the journal contains the intent "one" with another command',
    });
    expect(await countOrders(client, "other")).toBe(0);
  });

  it("is sent once where it is submitted twice at the same time", async () => {
    await using started = await start();
    const { client, intents } = started;
    const all = await Promise.all([1, 2, 3].map(() => intents.submit(order("one"), { id: "one" })));
    expect(new Set(all.map(({ txHash }) => txHash)).size).toBe(1);
    expect(await countOrders(client, "one")).toBe(1);
  });

  it("belongs to its key", async () => {
    await using started = await start();
    const { node, client, journal, intents } = started;
    using other = await signerFromMnemonic(node.mnemonic, { index: 2 });
    await intents.submit(order("one"), { id: "one" });
    await using ofOther = client.intents({ signer: other, journal });
    await expect(ofOther.submit(order("one"), { id: "one" })).rejects.toMatchObject({
      name: "RequestError",
      summary: expect.stringContaining('the journal contains the intent "one" for another key'),
    });
  });

  it("that is not signed in time is not sent, and the error says so", async () => {
    await using started = await start(0); // It makes no blocks.
    const { journal, intents } = started;
    await expect(intents.submit(order("one"), { id: "one", timeoutMs: 500 })).rejects.toMatchObject({
      name: "ConnectionError",
      summary: 'the deadline passed before intent "one" was signed',
    });
    expect(await journal.open()).toEqual([]);
  });

  it("that is not settled in time stays open, and the error says so", async () => {
    await using started = await start();
    const { node, journal, intents } = started;
    node.failNext({ method: "SubmitTransaction", times: 1000, with: "unavailable" });
    await expect(intents.submit(order("one"), { id: "one", timeoutMs: 1000 })).rejects.toMatchObject({
      name: "OutcomeUnknownError",
      summary: expect.stringMatching(/^the outcome of intent "one" is unknown: its result did not arrive in time;/),
    });
    expect(await journal.open()).toEqual(["one"]);
  });

  it("that is submitted again ends in the time of its own call", async () => {
    await using started = await start();
    const { node, intents } = started;
    node.failNext({ method: "SubmitTransaction", times: 1000, with: "unavailable" });
    const stop = new AbortController();
    let isFirstOver = false;
    const first = intents.submit(order("one"), { id: "one", signal: stop.signal }).finally(() => {
      isFirstOver = true;
    });
    const ended = expect(first).rejects.toMatchObject({ name: "OutcomeUnknownError" });
    await eventually(async () => (await started.journal.open()).length === 1);
    await expect(intents.submit(order("one"), { id: "one", timeoutMs: 500 })).rejects.toMatchObject({
      name: "OutcomeUnknownError",
    });
    expect(isFirstOver).toBe(false);
    stop.abort();
    await ended;
  });

  it("is not tied to a block that does not exist as a node gave one wrong answer, nor kept waiting by it", async () => {
    await using started = await start();
    const { node, journal } = started;
    let lies = 0;
    const lie: Interceptor = (next) => async (req) => {
      const response = await next(req);
      if (lies > 0 && !response.stream && isMessage(response.message, LastBlockHeightResponseSchema)) {
        lies -= 1;
        response.message.height = 2n ** 40n;
      }
      return response;
    };
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }, { interceptors: [lie] });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using intents = client.intents({ signer, journal });
    for (const id of ["first", "second", "third"]) {
      lies = 1;
      expect(await intents.submit(order(id), { id, timeoutMs: 20_000 })).toMatchObject({ status: "executed" });
      expect(lies).toBe(0);
    }
  });

  it("is written to disk before it is sent", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    await using client = clientOf(node);
    using signer = await signerFromMnemonic(node.mnemonic);
    await using file = await journalFile();
    const seen: number[] = [];
    const journal: Journal = {
      ...file,
      async append(id, entry, place) {
        seen.push(await countOrders(client, "one"));
        return file.append(id, entry, place);
      },
    };
    await using intents = client.intents({ signer, journal });
    const { txHash } = await intents.submit(order("one"), { id: "one" });
    expect(seen).toEqual([0, 1]);
    const [first = ""] = (await readFile(join(folder, "orders.journal"), "utf8")).split("\n");
    expect(JSON.parse(first)).toMatchObject({ id: "one", position: 0, isLast: false });
    expect(txHash).toMatch(/^[0-9A-F]{64}$/);
  });

  it("is not sent if it cannot be written down", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    await using client = clientOf(node);
    using signer = await signerFromMnemonic(node.mnemonic);
    await using file = await journalFile();
    const journal: Journal = { ...file, append: () => Promise.reject(new Error("the disk is full")) };
    await using intents = client.intents({ signer, journal });
    await expect(intents.submit(order("one"), { id: "one" })).rejects.toThrow("the disk is full");
    await node.makeBlock();
    expect(await countOrders(client, "one")).toBe(0);
  });

  it("is sent again where answers are lost, and executed once", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    await using client = clientOf(node);
    let lost = 0;
    await using proxy = await startCuttingProxy(node.grpcUrl, "lost-answer"); // The reference of the order that is submitted.
    await using cut = createClient(
      { transport: "grpc", grpc: { url: proxy.url } },
      {
        hooks: {
          onCallEnd({ method }, { error }) {
            lost += method.endsWith("SubmitTransaction") && error !== undefined ? 1 : 0;
          },
        },
      },
    );
    using signer = await signerFromMnemonic(node.mnemonic);
    await using journal = await journalFile();
    await using intents = cut.intents({ signer, journal });
    expect(await intents.submit(order("lost-answer"), { id: "one" })).toMatchObject({ status: "executed" });
    expect(await countOrders(client, "lost-answer")).toBe(1);
    expect(lost).toBeGreaterThan(0);
  });

  it("is sent again after a gap of the events if the node has forgotten it, and executed once", async () => {
    await using node = await startDevnode({ blockMs: 50 });
    await using proxy = await startCuttingProxy(node.grpcUrl);
    let submissions = 0;
    const forgetful: Interceptor = (next) => async (request) => {
      const { stream, service, method, message: asked } = request;
      if (stream || !isMessage(asked, SubmitTransactionRequestSchema)) {
        return next(request);
      }
      submissions += 1;
      if (submissions > 1) {
        return next(request);
      }
      proxy.cut();
      const txHash = asked.tx === undefined ? "" : transactionHash(asked.tx);
      const message = create(SubmitTransactionResponseSchema, { success: true, txHash });
      return { stream, service, method, header: new Headers(), trailer: new Headers(), message };
    };
    const config = { transport: "grpc", grpc: { url: proxy.url }, retry: { baseMs: 10, maxMs: 50 } } as const;
    await using client = createClient(config, { interceptors: [forgetful] });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    expect(await intents.submit(order("one"), { id: "one" })).toMatchObject({ status: "executed" });
    expect(submissions).toBeGreaterThan(1);
    expect(await countOrders(client, "one")).toBe(1);
  });

  it("fails, with the network's reason, if its execution fails", async () => {
    await using started = await start();
    const { intents } = started;
    const late = order("late", { timeInForce: Order_TimeInForce.GTT, expiresAt: 1n });
    const { reason, ...settled } = await intents.submit(late, { id: "late" });
    expect(settled).toMatchObject({ status: "failed", evidence: "result", parts: [{ status: "failed", reason }] });
  });

  it("of a batch names the orders of its parts, and which of them failed, also when it is read again", async () => {
    await using started = await start();
    const { client, intents } = started;
    const submissions = [order("first"), order("late", { timeInForce: Order_TimeInForce.GTT, expiresAt: 1n })].flatMap(
      (each) => (each.case === "orderSubmission" ? [each.value] : []),
    );
    const batch = { case: "batchMarketInstructions", value: { submissions } } as const;
    const settled = await intents.submit(batch, { id: "batch" });
    const [id] = await orderIds(client, "first");
    expect(settled).toMatchObject({
      status: "partial",
      orderId: undefined,
      parts: [
        { path: "submissions[0]", status: "executed", reason: undefined, brings: "order", id },
        { path: "submissions[1]", status: "failed", reason: expect.any(String), brings: "order" },
      ],
    });
    expect(await intents.submit(batch, { id: "batch" })).toStrictEqual(settled);
  });

  it("fails if the node refuses it when it is sent first", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    await using client = clientOf(node);
    using signer = await signerFromMnemonic(node.mnemonic);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal, chainIdPrefix: "signature-only" }); // This node wants the prefix.
    const rejected = await intents.submit(order("one"), { id: "one" });
    expect(rejected).toMatchObject({
      status: "failed",
      evidence: "refusal",
      txHash: expect.stringMatching(/^[0-9A-F]{64}$/),
      refusal: "profile",
      advice: expect.stringContaining("Use --profile specification (`profile` in the configuration)"),
      parts: [{ status: "failed", reason: rejected.reason, id: rejected.orderId }],
    });
    const again = await intents.submit(order("one"), { id: "one" });
    expect(again).toStrictEqual(rejected);
    expect(JSON.stringify(again)).toBe(JSON.stringify(rejected));
  });

  // As v0.78.0 answers where it does not know the block yet, or finds it too old (`verifyWithLock` in core/pow/engine.go, and
  // "17 block to come" of the recorded refusals).
  it("is sent again where the block that it is tied to is unknown to a node, and executed once", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    const data = `unknown block height for tx:${"ab".repeat(32)}, command:Submit Order, party:${"cd".repeat(32)}`;
    let refused = 0;
    const behind: Interceptor = (next) => async (request) => {
      if (request.stream || request.method.name !== "SubmitTransaction" || refused === 2) {
        return next(request);
      }
      refused += 1;
      const message = create(SubmitTransactionResponseSchema, { success: false, code: 89, data });
      const { service, method } = request;
      return { stream: false, service, method, header: new Headers(), trailer: new Headers(), message };
    };
    const config = { transport: "grpc", grpc: { url: node.grpcUrl }, retry: { baseMs: 10, maxMs: 50 } } as const;
    await using client = createClient(config, { interceptors: [behind] });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    expect(await intents.submit(order("one"), { id: "one" })).toMatchObject({ status: "executed" });
    expect([refused, await countOrders(client, "one")]).toEqual([2, 1]);
  });

  it("fails if no block takes it in time", async () => {
    await using started = await start();
    const { node, client, intents } = started;
    node.failNext({ method: "SubmitTransaction", times: 1000, with: "unavailable" });
    const settled = await intents.submit(order("one"), { id: "one", timeoutMs: 30_000 });
    expect(settled).toMatchObject({ status: "failed", evidence: "blocks" });
    expect(await countOrders(client, "one")).toBe(0);
  });

  it("that was open is settled after a crash, sent or not", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    using signer = await signerFromMnemonic(node.mnemonic);
    const commands = { unsent: order("unsent"), sent: order("sent") };
    await crash(node, signer, commands, async (client) => (await countOrders(client, "sent")) === 1);
    await using client = clientOf(node);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    for await (const { id, ...settled } of intents.resume()) {
      const [orderId, ...more] = await orderIds(client, id);
      expect(more).toEqual([]);
      expect(settled).toMatchObject({ status: "executed", orderId, parts: [{ status: "executed", id: orderId }] });
    }
    expect(await journal.open()).toEqual([]);
  });

  // A mempool forgets what failed (`Update` in CometBFT's mempool/clist_mempool.go), and everything when its node is restarted. The
  // network then refuses what a block has with "transaction hash already used" (v0.78.0, `CheckTx` in core/pow/engine.go).
  it("that a block has is settled by its records before it expires, although the node has forgotten it", async () => {
    const dataDir = join(folder, "node");
    const startNode = () => startDevnode({ dataDir, blockMs: 300, segments: 1, blocksPerSegment: 5 });
    const first = await startNode();
    using signer = await signerFromMnemonic(first.mnemonic);
    {
      await using node = first;
      await using client = clientOf(node);
      const rest = async (): Promise<string> => {
        const { outcome } = await client.sendCommand(order("before"), { signer, until: "executed" });
        return outcome.status === "executed" ? (outcome.parts[0]?.id ?? "") : "";
      };
      const half = risesAbove();
      const pair = { risesAbove: half, fallsBelow: { ...half, trigger: { case: "price" as const, value: "1" } } };
      const commands: Record<string, CommandFields> = {
        order: order("order"),
        rejected: order("rejected", { size: 10n ** 15n, price: "260000" }),
        amendment: { case: "orderAmendment", value: { marketId: openMarket, orderId: await rest(), price: "2" } },
        cancellation: { case: "orderCancellation", value: { marketId: openMarket, orderId: await rest() } },
        stop: { case: "stopOrdersSubmission", value: { risesAbove: half } },
        pair: { case: "stopOrdersSubmission", value: pair },
        batch: {
          case: "batchMarketInstructions",
          value: { submissions: [order("batch").value], stopOrdersSubmission: [{ risesAbove: half }] },
        },
        transfer: {
          case: "transfer",
          value: {
            fromAccountType: AccountType.GENERAL,
            toAccountType: AccountType.GENERAL,
            to: "ab".repeat(32),
            asset: ownAsset,
            amount: "100000000000000000000",
            kind: { case: "oneOff", value: {} },
          },
        },
      };
      await crash(node, signer, commands, async () => (await countOrders(client, "batch")) > 0);
    }
    await using node = await startNode();
    await using client = clientOf(node);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    const resumed: Record<string, unknown> = {};
    for await (const { id, ...ending } of intents.resume({ timeoutMs: 20_000 })) {
      resumed[id] = ending; // They expire after 30 seconds.
    }
    const executed = { status: "executed", evidence: "records" };
    expect(resumed).toMatchObject({
      order: executed,
      rejected: { status: "failed", evidence: "records" },
      amendment: executed,
      cancellation: executed,
      stop: executed,
      pair: executed,
      batch: executed,
      transfer: executed,
    });
  });

  it("that a block has is looked for after each block while the data node lags", async () => {
    await using node = await startDevnode({ blockMs: 200 });
    using signer = await signerFromMnemonic(node.mnemonic);
    const rejected = order("rejected", { size: 10n ** 15n, price: "260000" });
    await crash(node, signer, { rejected }, async (client) => (await countOrders(client, "rejected")) === 1);
    let looks = 0;
    const lagging: Interceptor = (next) => async (request) => {
      looks += request.method.name === "GetOrder" ? 1 : 0;
      if (looks < 4 && ["GetOrder", "ListEntities"].includes(request.method.name)) {
        throw new ConnectError("", Code.NotFound);
      }
      return next(request);
    };
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }, { interceptors: [lagging] });
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    const resumed = intents.resume({ timeoutMs: 15_000 })[Symbol.asyncIterator](); // It expires after 20 seconds.
    expect((await resumed.next()).value).toMatchObject({ status: "failed", evidence: "records" });
    expect(looks).toBe(4);
  });

  it("is looked for as long as its time lasts, however long the data node lags", async () => {
    await using node = await startDevnode({ blockMs: 0 });
    using signer = await signerFromMnemonic(node.mnemonic);
    let isOver = false;
    const crashed = crash(node, signer, { unsent: order("unsent") }, async () => true).finally(() => {
      isOver = true;
    });
    await eventually(async () => (await node.makeBlock()) > 0n && isOver);
    await crashed;
    for (let made = 0; made < 130; made += 1) {
      await node.makeBlock(); // So that no block can contain it any more, and its absence is proof.
    }
    using runtime = useVirtualRuntime({ io: true });
    const current = runtime.monotonicMs() + 150_000;
    const lagging: Interceptor = (next) => async (request) => {
      const response = await next(request);
      if (
        !response.stream &&
        isMessage(response.message, GetVegaTimeResponseSchema) &&
        runtime.monotonicMs() < current
      ) {
        response.message.timestamp = 1n;
      }
      return response;
    };
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }, { interceptors: [lagging] });
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    const resumed = intents.resume()[Symbol.asyncIterator]();
    expect((await runtime.until(resumed.next())).value).toMatchObject({ status: "failed", evidence: "absence" });
  });

  // `ListEntities` of v0.78.0 lists no stop orders (datanode/api/trading_data_v2.go).
  it("that submits stop orders is settled after a crash by their records", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    using signer = await signerFromMnemonic(node.mnemonic);
    const half = risesAbove();
    const past = { expiresAt: 1n, expiryStrategy: StopOrder_ExpiryStrategy.CANCELS };
    const stop = (value: MessageInitShape<typeof StopOrdersSubmissionSchema>): CommandFields => ({
      case: "stopOrdersSubmission",
      value,
    });
    const commands = {
      one: stop({ risesAbove: half }),
      pair: stop({ risesAbove: half, fallsBelow: { ...half, trigger: { case: "price", value: "1" } } }),
      rejected: stop({ risesAbove: { ...half, ...past } }),
      unsent: stop({ risesAbove: half }),
    };
    const stopOrders = async (client: Client) => {
      const filter = { partyIds: [signer.publicKey] };
      const { orders } = await client.service(TradingDataService).listStopOrders({ filter });
      return orders?.edges.map(({ node }) => node?.stopOrder?.id) ?? [];
    };
    {
      await using client = clientOf(node);
      await client.sendCommand(order("first"), { signer, until: "executed" }); // A party needs an order, or a position.
    }
    await crash(node, signer, commands, async (client) => (await stopOrders(client)).length === 4);
    await using client = clientOf(node);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    const resumed: Record<string, unknown> = {};
    const ids: unknown[] = [];
    for await (const { id, ...ending } of intents.resume({ timeoutMs: 20_000 })) {
      resumed[id] = ending;
      ids.push(...("parts" in ending ? ending.parts.map((part) => part.id) : []));
    }
    const reason = "REJECTION_REASON_EXPIRY_IN_THE_PAST";
    expect(resumed).toMatchObject({
      one: { status: "executed", evidence: "records" },
      pair: { status: "executed", evidence: "records", parts: [{ path: "fallsBelow" }, { path: "risesAbove" }] },
      rejected: { status: "failed", evidence: "records", reason, parts: [{ status: "failed", reason }] },
      unsent: { status: "executed" },
    });
    expect(await journal.open()).toEqual([]);
    await committed(client);
    const listed = await stopOrders(client);
    expect(listed).toHaveLength(5);
    expect(ids.toSorted()).toEqual(listed.toSorted());
  });

  it("whose outcome nothing shows stays open, with the reason, once it has expired, until it is ended", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using client = clientOf(node);
    await client.sendCommand(order("first"), { signer, until: "executed" }); // A party needs an order, or a position.
    const { outcome } = await client.sendCommand(stopOrder(), { signer, until: "executed" });
    const stopOrderId = outcome.status === "executed" ? (outcome.parts[0]?.id ?? "") : "";
    const cancellation: CommandFields = {
      case: "stopOrdersCancellation",
      value: { marketId: openMarket, stopOrderId },
    };
    const stops = client.service(TradingDataService);
    await committed(client);
    await crash(node, signer, { cancellation }, async () => {
      const { order } = await stops.getStopOrder({ orderId: stopOrderId });
      return order?.stopOrder?.status === StopOrder_Status.CANCELLED;
    });
    await using journal = await journalFile();
    await using overRest = createClient({ transport: "rest", rest: { url: node.restUrl } });
    const runs = [
      [client, 40_000],
      [client, 5000],
      [overRest, 5000],
    ] as const;
    for (const [resuming, limitMs] of runs) {
      await using intents = resuming.intents({ signer, journal });
      const startedAt = performance.now();
      const { value } = await intents.resume({ timeoutMs: 60_000 })[Symbol.asyncIterator]().next();
      expect(performance.now() - startedAt).toBeLessThan(limitMs);
      expect(value).toMatchObject({
        status: "open",
        error: {
          summary: expect.stringContaining(
            `is unknown: stop order ${stopOrderId} is STATUS_CANCELLED, but it is not known whether this transaction canceled it`,
          ),
        },
      });
    }
    await using intents = client.intents({ signer, journal });
    const ended = await intents.end("cancellation", { status: "executed" });
    expect(ended).toMatchObject({ status: "executed", evidence: "decision", parts: [{ status: "executed" }] });
    expect(await journal.open()).toEqual([]);
    expect(await intents.end("cancellation", { status: "failed" })).toStrictEqual(ended);
  });

  it("that evidence settles ends as the evidence says, not as the program", async () => {
    await using node = await startDevnode({ blockMs: 30 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await crash(node, signer, { one: order("one") }, async (client) => (await countOrders(client, "one")) === 1);
    await using client = clientOf(node);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    expect(await intents.end("one", { status: "failed" })).toMatchObject({ status: "executed", evidence: "records" });
    await expect(intents.end("none", { status: "failed" })).rejects.toThrow('the intent "none" is not in the journal');
  });

  it("that the network may still execute is not ended", async () => {
    await using node = await startDevnode({ blockMs: 1000 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using client = clientOf(node);
    await using journal = await journalFile();
    await using intents = client.intents({ signer, journal });
    node.failNext({ method: "SubmitTransaction", times: 1000, with: "unavailable" });
    await expect(intents.submit(order("one"), { id: "one", timeoutMs: 3000 })).rejects.toThrow(OutcomeUnknownError);
    await expect(intents.end("one", { status: "failed", timeoutMs: 3000 })).rejects.toThrow(OutcomeUnknownError);
    expect(await journal.open()).toEqual(["one"]);
  });

  it.each([
    [{ id: "" }, "id"],
    [{ id: "a\ud800" }, "id"], // In UTF-8, it would be the same as "a\udc00".
    [{ id: "a\nb" }, "id"],
    [{ id: "x".repeat(201) }, "id"],
    [{ id: "one", validForBlocks: 0 }, "validForBlocks"],
    [{ id: "one", timeoutMs: 0 }, "timeoutMs"],
  ])("with the options %j is refused", async (options, option) => {
    await using started = await start(0);
    const { intents } = started;
    const failed = intents.submit(order("one"), options);
    await expect(failed).rejects.toThrow(RequestError);
    await expect(failed).rejects.toThrow(option);
  });
});
