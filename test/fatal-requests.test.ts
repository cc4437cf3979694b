import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromJson, isMessage, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient as createConnectClient, type Interceptor } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import {
  type Client,
  CommandError,
  createClient,
  NodeError,
  Order_TimeInForce,
  Order_Type,
  openFileJournal,
  RequestError,
  Side,
  signerFromMnemonic,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import {
  ExportNetworkHistoryRequestSchema,
  GetERC20ListAssetBundleResponseSchema,
  ObserveEventBusResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { InputDataSchema, TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { startCuttingProxy } from "./support/cutting-proxy.js";
import { openMarket } from "./support/devnode.js";
import { eventually } from "./support/eventually.js";
import { serveNode, serveNodeOf } from "./support/node.js";
import { type CommandFields, craft, sender, stopOrder } from "./support/transactions.js";
import { nodeRuntime, useRuntime } from "./support/virtual-runtime.js";

const builtin = "ab".repeat(32);
const erc20 = "cd".repeat(32);
const unknown = "ee".repeat(32);
const id = "12".repeat(32);
const failure = (promise: Promise<unknown>) => promise.then(undefined, (reason: unknown) => reason);
const block = { chainId: "test-1", height: 100n, hash: "00".repeat(32), difficulty: 1, hashFunction: "sha3_24_rounds" };

/** Call a node over each transport. It keeps the names of the methods that were called. */
async function eachTransport(act: (client: Client, called: string[]) => Promise<void>): Promise<void> {
  const called: string[] = [];
  await using node = await serveNode(
    {
      async getAsset({ assetId }) {
        called.push("getAsset");
        if (assetId === unknown) {
          throw new ConnectError("no asset", Code.NotFound);
        }
        if (assetId !== builtin && assetId !== erc20) {
          throw new ConnectError("busy", Code.Internal);
        }
        return {
          asset: {
            id: assetId,
            details: { source: { case: assetId === builtin ? "builtinAsset" : "erc20", value: {} } },
          },
        };
      },
      async getERC20ListAssetBundle({ assetId }) {
        called.push("getERC20ListAssetBundle");
        if (assetId === unknown) {
          throw new ConnectError("no asset", Code.NotFound);
        }
        return create(GetERC20ListAssetBundleResponseSchema, { nonce: "7" });
      },
      async getNetworkParameter({ key }) {
        called.push("getNetworkParameter");
        if (key.startsWith("busy")) {
          throw new ConnectError("busy", Code.Internal);
        }
        if (!key.startsWith("spam.") && !key.startsWith("fork.")) {
          throw new ConnectError("no parameter", Code.NotFound);
        }
        return { networkParameter: { key, value: "1" } };
      },
      async *exportNetworkHistory() {
        called.push("exportNetworkHistory");
        yield { contentType: "application/zip", data: new Uint8Array(3) };
      },
    },
    {
      async submitTransaction() {
        called.push("submitTransaction");
        return { success: true };
      },
      async submitRawTransaction() {
        called.push("submitRawTransaction");
        return { success: true };
      },
      async checkTransaction() {
        called.push("checkTransaction");
        return { success: true };
      },
      async checkRawTransaction() {
        called.push("checkRawTransaction");
        return { success: true };
      },
      async lastBlockHeight() {
        called.push("lastBlockHeight");
        return {
          ...block,
          spamPowDifficulty: 1,
          spamPowHashFunction: block.hashFunction,
          spamPowNumberOfPastBlocks: 30,
        };
      },
    },
  );
  const grpc = { url: node.grpcUrl };
  const rest = { url: node.restUrl };
  for (const config of [
    { transport: "grpc", grpc },
    { transport: "grpc-js", grpc },
    { transport: "rest", rest },
  ] as const) {
    called.length = 0;
    await using client = createClient({ ...config, timeouts: { callMs: 60_000 } });
    await act(client, called);
  }
}

const table = 1;
const exported = async (client: Client, fromBlock: bigint, toBlock: bigint) => {
  const chunks: number[] = [];
  const request = create(ExportNetworkHistoryRequestSchema, { fromBlock, toBlock, table });
  for await (const { data } of client.service(TradingDataService).exportNetworkHistory(request)) {
    chunks.push(data.length);
  }
  return chunks;
};

// By datanode/networkhistory/store, a range from its end to its start makes v0.78.0 fail.
describe("an export from its end to its start", () => {
  test("is not sent", async () => {
    await eachTransport(async (client, called) => {
      const error = await failure(exported(client, 2n, 1n));
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({ summary: "fromBlock 2 is after toBlock 1, which crashes a data node" });
      expect(called).toEqual([]);
    });
  });

  test("is not sent over the bare transport", async () => {
    await eachTransport(async (client, called) => {
      const { exportNetworkHistory } = createConnectClient(TradingDataService, client.transport);
      const error = await failure(
        (async () => {
          for await (const _ of exportNetworkHistory({ fromBlock: 2n, toBlock: 1n, table })) {
            throw new Error("an answer");
          }
        })(),
      );
      expect(error).toBeInstanceOf(ConnectError);
      expect(error).toMatchObject({ code: Code.InvalidArgument, cause: expect.any(RequestError) });
      expect(called).toEqual([]);
    });
  });

  test("of one block is sent", async () => {
    await eachTransport(async (client, called) => {
      expect(await exported(client, 2n, 2n)).toEqual([3]);
      expect(called).toEqual(["exportNetworkHistory"]);
    });
  });
});

// By datanode/api/trading_data_v2.go, the bundle is made of the asset's ERC-20 details, whether it has any or not.
describe("the bundle of an asset", () => {
  const bundle = (client: Client, assetId: string) =>
    client.service(TradingDataService).getERC20ListAssetBundle({ assetId });

  test("that is built in is not asked for", async () => {
    await eachTransport(async (client, called) => {
      const error = await failure(bundle(client, builtin));
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({
        summary: `the asset ${builtin} is built in, and a request for its bundle crashes a data node`,
      });
      const bare = createConnectClient(TradingDataService, client.transport);
      expect(await failure(bare.getERC20ListAssetBundle({ assetId: builtin }))).toMatchObject({
        cause: expect.any(RequestError),
      });
      expect(called).toEqual(["getAsset", "getAsset"]);
    });
  });

  test("of Ethereum is", async () => {
    await eachTransport(async (client, called) => {
      expect(await bundle(client, erc20)).toMatchObject({ nonce: "7" });
      expect(called).toEqual(["getAsset", "getERC20ListAssetBundle"]);
    });
  });

  test("that the node does not know is, and the node answers that", async () => {
    await eachTransport(async (client, called) => {
      const error = await failure(bundle(client, unknown));
      expect(error).toBeInstanceOf(NodeError);
      expect(error).toMatchObject({ code: Code.NotFound });
      expect(called).toEqual(["getAsset", "getERC20ListAssetBundle"]);
    });
  });

  test("that cannot be looked up is not", async () => {
    await eachTransport(async (client, called) => {
      expect(await failure(bundle(client, id))).toMatchObject({ code: Code.Internal });
      expect(new Set(called)).toEqual(new Set(["getAsset"]));
    });
  });
});

/** By the sources of v0.78.0: each fails while a block is executed, so the chain stops; the last, while it is checked. */
const haltingCommands: readonly (readonly [name: string, command: JsonObject, problem: string])[] = [
  [
    "an amendment of an automated market maker without a curve", // VerifyAMMBounds in core/execution/future/market.go
    { amendAmm: { marketId: id, slippageTolerance: "0.1", proposedFee: "0.1" } },
    "amendAmm.concentratedLiquidityParameters is required: without it, the amendment permanently halts a v0.78.0 network",
  ],
  [
    // failedMarkets[*cancel.MarketId] in core/processor/batch_market_instructions_processor.go
    "a batch that cancels stop orders of no named market",
    { batchMarketInstructions: { stopOrdersCancellation: [{ marketId: id }, {}] } },
    "batchMarketInstructions.stopOrdersCancellation[1].marketId is required in a batch: without it, the batch permanently halts a v0.78.0 network",
  ],
  ...[
    ["a deprecated parameter", "market.stake.target.scalingFactor", "which is deprecated"], // Deprecated in core/netparams/keys.go
    ["a parameter that is not updated", "blockchains.evmBridgeConfigs", "which cannot be updated"], // core/netparams/netparams.go
  ].map(
    ([name, key, why]) =>
      [
        `a batch of proposals that updates ${name}`, // CheckBatchPropose in core/processor/abci.go
        batchOfUpdates("spam.pow.difficulty", key ?? ""),
        `batchProposalSubmission.terms.changes[1].updateNetworkParameter.changes.key must not be ${key}, ${why}: updating it in a batch of proposals stops a core node of v0.78.0 that checks the batch`,
      ] as const,
  ),
];

/** A batch of proposals that keeps the network's rules of commands. */
function batchOfUpdates(...keys: string[]): JsonObject {
  const changes = keys.map((key) => ({
    enactmentTimestamp: "1900000100",
    updateNetworkParameter: { changes: { key, value: "1" } },
  }));
  const rationale = { title: "a title", description: "a description" };
  return { batchProposalSubmission: { rationale, terms: { closingTimestamp: "1900000000", changes } } };
}

describe.each(haltingCommands)("%s", (_name, json, halts) => {
  const isFatalToCheck = "batchProposalSubmission" in json;
  const inputData = toBinary(InputDataSchema, fromJson(InputDataSchema, { nonce: "1", blockHeight: "1", ...json }));

  test("is neither signed nor sent", async () => {
    await eachTransport(async (client, called) => {
      const { command } = fromJson(InputDataSchema, json);
      const signer = await sender;
      if (command.case === undefined) {
        throw new Error("no command");
      }
      for (const act of [client.signCommand, client.sendCommand] as const) {
        const error = await failure(act(command, { signer, chainId: "test-1" }));
        expect(error).toBeInstanceOf(CommandError);
        expect(String(error)).toContain(halts);
      }
      expect(called).toEqual([]);
    });
  });

  test.each([
    ["bare", inputData],
    ["with the chain's identifier", Uint8Array.from([...new TextEncoder().encode("test-1\0"), ...inputData])],
  ])("is not submitted where it was signed elsewhere, input data %s", async (_, bytes) => {
    const tx = create(TransactionSchema, { ...(await craft({ block })), inputData: bytes });
    await eachTransport(async (client, called) => {
      const core = client.service(CoreService);
      const raw = toBinary(TransactionSchema, tx);
      for (const submitted of [
        client.submitTransaction({ tx }),
        core.submitTransaction({ tx }),
        core.submitRawTransaction({ tx: raw }),
      ]) {
        const error = await failure(submitted);
        expect(error).toBeInstanceOf(CommandError);
        expect(String(error)).toContain(halts);
      }
      expect(called).toEqual([]);
      const checks = [() => client.checkTransaction(tx), () => core.checkRawTransaction({ tx: raw })];
      for (const check of checks) {
        if (isFatalToCheck) {
          expect(await failure(check())).toBeInstanceOf(CommandError);
        } else {
          expect(await check()).toMatchObject({ success: true });
        }
      }
      expect(called).toEqual(isFatalToCheck ? [] : ["checkTransaction", "checkRawTransaction"]);
    });
  });

  test("others are submitted, also those that cannot be read", async () => {
    const tx = create(TransactionSchema, await craft({ block }));
    await eachTransport(async (client, called) => {
      const core = client.service(CoreService);
      await client.submitTransaction({ tx });
      await client.submitTransaction({ tx: create(TransactionSchema, { ...tx, inputData: new Uint8Array([255]) }) });
      await core.submitRawTransaction({ tx: toBinary(TransactionSchema, tx) });
      await core.submitRawTransaction({ tx: new Uint8Array([255]) });
      expect(called.filter((name) => name !== "lastBlockHeight")).toEqual([
        "submitTransaction",
        "submitTransaction",
        "submitRawTransaction",
        "submitRawTransaction",
      ]);
    });
  });
});

// By `prepareProposal` and `processProposal` in core/processor/abci.go of v0.78.0: a market with transaction reordering executes such
// commands a block later. One that is in the last block that can take it has expired by then; the proposer leaves it out, and
// the validators insist on it. A validator of v0.78.0 stood still for good after it.
describe("a transaction that a market may delay", () => {
  const limit = { marketId: id, size: 1n, price: "1", side: Side.BUY, timeInForce: Order_TimeInForce.GTC } as const;
  const order = { ...limit, type: Order_Type.LIMIT };
  const postOnly = { ...order, postOnly: true };
  const amendment = { marketId: id, orderId: id, sizeDelta: 1n };
  const cancellation = { marketId: id, orderId: id };
  const delayed: readonly CommandFields[] = [
    { case: "orderSubmission", value: order },
    { case: "orderAmendment", value: amendment },
    stopOrder(),
    { case: "amendAmm", value: { marketId: id, slippageTolerance: "0.1", concentratedLiquidityParameters: {} } },
    { case: "batchMarketInstructions", value: { submissions: [postOnly, order] } },
    { case: "batchMarketInstructions", value: { amendments: [amendment] } },
  ];
  const prompt: readonly CommandFields[] = [
    { case: "orderSubmission", value: postOnly },
    { case: "orderCancellation", value: cancellation },
    { case: "batchMarketInstructions", value: { submissions: [postOnly], cancellations: [cancellation] } },
  ];
  /** Transactions that expire so many blocks after the last block. Those that are tied to one expire 30 blocks after it. */
  const expiringIn = (blocks: bigint, commands: readonly CommandFields[]) =>
    Promise.all(
      commands.map((command) => craft({ block, inputData: { blockHeight: block.height - 30n + blocks, command } })),
    );

  test("is not sent in the last 10 of 30 blocks, however it was signed", async () => {
    const late = [...(await expiringIn(10n, delayed)), ...(await expiringIn(1n, delayed))];
    await eachTransport(async (client, called) => {
      const core = client.service(CoreService);
      for (const tx of late) {
        for (const submit of [
          () => client.submitTransaction({ tx }),
          () => core.submitTransaction({ tx }),
          () => core.submitRawTransaction({ tx: toBinary(TransactionSchema, tx) }),
        ]) {
          expect(await failure(submit())).toMatchObject({
            name: "ConnectionError",
            code: Code.DeadlineExceeded,
            connected: false,
            summary: expect.stringMatching(/^the transaction expires in (10|1) blocks, when a market/),
          });
        }
      }
      expect(new Set(called)).toEqual(new Set(["lastBlockHeight"]));
    });
  });

  test("is sent before, and after them for the network to refuse it, and others are always sent", async () => {
    const sent = [
      ...(await expiringIn(11n, delayed)),
      ...(await expiringIn(0n, delayed)),
      ...(await expiringIn(1n, prompt)),
    ];
    await eachTransport(async (client, called) => {
      for (const tx of sent) {
        await client.submitTransaction({ tx });
      }
      expect(called.filter((name) => name === "submitTransaction")).toHaveLength(sent.length);
    });
  });

  /** A node whose last block changes, and which keeps what is submitted. */
  async function serveBlocks() {
    const state = { height: block.height, asked: 0, submitted: 0 };
    const node = await serveNode(
      {},
      {
        lastBlockHeight() {
          state.asked += 1;
          return {
            ...block,
            height: state.height,
            spamPowDifficulty: 1,
            spamPowHashFunction: block.hashFunction,
            spamPowNumberOfPastBlocks: 30,
          };
        },
        submitTransaction() {
          state.submitted += 1;
          return { success: true, txHash: "AB" };
        },
      },
    );
    return { node, state };
  }
  const tooLate = { name: "ConnectionError", summary: expect.stringMatching(/^the transaction expires in 3 blocks/) };

  test.each([
    ["grpc", 8000],
    ["grpc", 300],
    ["grpc-js", 8000],
    ["rest", 8000],
  ] as const)(
    "is not sent after a wait for its turn that lasted 8 of its 11 blocks, over %s, %i ms",
    async (transport, waitMs) => {
      const { node, state } = await serveBlocks();
      await using _ = node;
      const [tx] = await expiringIn(11n, delayed);
      let suspendedMs = 0;
      let attempts = 0;
      using __ = useRuntime({ unixMs: () => Date.now() + suspendedMs });
      const wait: Interceptor = (next) => (req) => {
        attempts += req.method.name === "SubmitTransaction" ? 1 : 0;
        if (attempts > 0 && suspendedMs === 0) {
          suspendedMs = waitMs; // The machine is suspended: only the system clock goes on.
          state.height += 8n;
        }
        return next(req);
      };
      await using client = createClient(
        { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } },
        { interceptors: [wait] },
      );
      expect(await failure(client.submitTransaction({ tx }))).toMatchObject(tooLate);
      expect(state.submitted).toBe(0);
      expect(attempts).toBeLessThan(state.asked); // The node is asked again before each attempt.
    },
  );

  test.each(["grpc", "rest"] as const)(
    "is not sent after a wait for a connection that lasted 8 of its 11 blocks, over %s",
    async (transport) => {
      const { node, state } = await serveBlocks();
      await using _ = node;
      await using proxy = await startCuttingProxy(transport === "grpc" ? node.grpcUrl : node.restUrl);
      const [tx] = await expiringIn(11n, delayed);
      let suspendedMs = 0;
      const sockets: Socket[] = [];
      using __ = useRuntime({
        unixMs: () => Date.now() + suspendedMs,
        connect(options) {
          if (sockets.length > 0 && suspendedMs === 0) {
            suspendedMs = 8000;
            state.height += 8n;
          }
          const socket = nodeRuntime.connect(options);
          sockets.push(socket);
          return socket;
        },
      });
      const cut: Interceptor = (next) => async (req) => {
        if (req.method.name === "SubmitTransaction" && suspendedMs === 0) {
          const closed = Promise.all(
            sockets
              .filter((socket) => !socket.closed)
              .map((socket) => new Promise<void>((resolve) => void socket.once("close", () => resolve()))),
          );
          proxy.cut();
          await closed;
        }
        return next(req);
      };
      await using client = createClient(
        { transport, grpc: { url: proxy.url }, rest: { url: proxy.url } },
        { interceptors: [cut] },
      );
      expect(await failure(client.submitTransaction({ tx }))).toMatchObject(tooLate);
      expect(suspendedMs).toBe(8000);
      expect(state.submitted).toBe(0);
    },
  );

  test("is sent after a wait that left it enough blocks", async () => {
    const { node, state } = await serveBlocks();
    await using _ = node;
    const [tx] = await expiringIn(19n, delayed);
    let suspendedMs = 0;
    using __ = useRuntime({ unixMs: () => Date.now() + suspendedMs });
    const wait: Interceptor = (next) => (req) => {
      if (req.method.name === "SubmitTransaction" && suspendedMs === 0) {
        suspendedMs = 8000;
        state.height += 8n;
      }
      return next(req);
    };
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }, { interceptors: [wait] });
    expect(await client.submitTransaction({ tx })).toMatchObject({ success: true });
    expect(state.submitted).toBe(1);
  });

  test("is not sent by a client that knows the last block only from the blocks that it follows", async () => {
    await using node = await startDevnode({ blockMs: 0 });
    const config = { transport: "grpc", grpc: { url: node.grpcUrl } } as const;
    await using signing = createClient(config);
    using signer = await signerFromMnemonic(node.mnemonic);
    const value = { ...order, marketId: openMarket };
    const tx = await signing.signCommand({ case: "orderSubmission", value }, { signer });
    const { height, spamPowNumberOfPastBlocks: past } = await signing.lastBlockHeight();
    let seen = 0n; // The last block whose end the client has read.
    const watch: Interceptor = (next) => async (req) => {
      const response = await next(req);
      if (!response.stream) {
        return response;
      }
      async function* counted<T>(messages: AsyncIterable<T>) {
        for await (const message of messages) {
          if (isMessage(message, ObserveEventBusResponseSchema)) {
            for (const { event } of message.events) {
              seen = event.case === "endBlock" ? event.value.height : seen;
            }
          }
          yield message;
        }
      }
      return { ...response, message: counted(response.message) };
    };
    await using following = createClient(config, { interceptors: [watch] });
    const folder = await mkdtemp(join(tmpdir(), "tradewire-late-"));
    await using __ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
    await using journal = await openFileJournal(join(folder, "orders.journal"));
    await using _ = following.intents({ signer, journal });
    await eventually(async () => {
      await node.makeBlock();
      return seen > 0n;
    });
    while ((await signing.lastBlockHeight()).height < height + BigInt(past) - 5n) {
      await node.makeBlock();
    }
    await node.makeBlock();
    const last = await signing.lastBlockHeight();
    await eventually(() => seen === last.height);
    expect(await failure(following.submitTransaction({ tx }))).toMatchObject({
      summary: expect.stringMatching(/^the transaction expires in 4 blocks/),
    });
  });

  test("is sent where the node does not tell its last block", async () => {
    const [tx] = await expiringIn(1n, delayed);
    await using node = await serveNode({}, { submitTransaction: () => ({ success: true, txHash: "AB" }) });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    expect(await client.submitTransaction({ tx })).toMatchObject({ success: true });
  });
});

describe("a batch of proposals that updates parameters", () => {
  const commandOf = (json: JsonObject) => {
    const { command } = fromJson(InputDataSchema, json);
    if (command.case === undefined) {
      throw new Error("no command");
    }
    return command;
  };

  test("that the network has is sent, also those of a fork", async () => {
    const command = commandOf(batchOfUpdates("spam.pow.difficulty", "fork.parameter"));
    await eachTransport(async (client, called) => {
      await client.sendCommand(command, { signer: await sender, chainId: "test-1" });
      const asked = ["getNetworkParameter", "getNetworkParameter"];
      // The first answer counts once the second one confirms it.
      const last = ["lastBlockHeight", "lastBlockHeight"];
      expect(called).toEqual([...asked, ...last, ...asked, "submitTransaction"]);
    });
  });

  test("of which the network lacks one is neither signed nor sent", async () => {
    const json = batchOfUpdates("spam.pow.difficulty", "no.such.parameter");
    const command = commandOf(json);
    const inputData = toBinary(InputDataSchema, fromJson(InputDataSchema, { nonce: "1", blockHeight: "1", ...json }));
    const tx = create(TransactionSchema, { ...(await craft({ block })), inputData });
    await eachTransport(async (client, called) => {
      const signer = await sender;
      for (const refused of [
        () => client.signCommand(command, { signer, chainId: "test-1" }),
        () => client.submitTransaction({ tx }),
        () => client.checkTransaction(tx),
      ]) {
        const error = await failure(refused());
        expect(error).toBeInstanceOf(CommandError);
        expect(String(error)).toContain(
          "batchProposalSubmission.terms.changes[1].updateNetworkParameter.changes.key must not be no.such.parameter, which this network does not have: updating it in a batch of proposals",
        );
      }
      expect(new Set(called)).toEqual(new Set(["getNetworkParameter"]));
    });
  });

  test("of which one cannot be looked up is not sent", async () => {
    const command = commandOf(batchOfUpdates("busy.parameter"));
    await eachTransport(async (client, called) => {
      const error = await failure(client.sendCommand(command, { signer: await sender, chainId: "test-1" }));
      expect(error).toMatchObject({ code: Code.Internal });
      expect(new Set(called)).toEqual(new Set(["getNetworkParameter"]));
    });
  });

  // A core node has no data service; its state service lists parameters, none for a key that it lacks.
  test("is checked by a core node alone", async () => {
    const listed: string[] = [];
    await using node = await serveNodeOf(
      (router) => {
        router.service(CoreService, { lastBlockHeight: () => ({ ...block, spamPowHashFunction: block.hashFunction }) });
        router.service(CoreStateService, {
          listNetworkParameters({ networkParameterKey: key }) {
            listed.push(key);
            return { networkParameters: key === "spam.pow.difficulty" ? [{ key, value: "1" }] : [] };
          },
        });
      },
      [CoreService, CoreStateService],
    );
    for (const config of [
      { transport: "grpc", grpc: { url: node.grpcUrl } },
      { transport: "rest", rest: { url: node.restUrl } },
    ] as const) {
      await using client = createClient(config);
      const signer = await sender;
      const known = commandOf(batchOfUpdates("spam.pow.difficulty"));
      const lacking = commandOf(batchOfUpdates("no.such.parameter"));
      const signed = await client.signCommand(known, { signer, chainId: "test-1" });
      expect(signed.signature?.value).toMatch(/^[0-9a-f]{128}$/);
      expect(await failure(client.signCommand(lacking, { signer, chainId: "test-1" }))).toBeInstanceOf(CommandError);
    }
    expect(listed).toEqual(["spam.pow.difficulty", "no.such.parameter", "spam.pow.difficulty", "no.such.parameter"]);
  });
});
