import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { Code, type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "../../gen/vega/api/v1/corestate_pb.js";
import { CanceledError, ConnectionError, RequestError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
import type { ChainIdPrefix } from "../transaction/transaction.js";
import { applyCommand } from "./core/apply.js";
import { readLastBlocks, readSpamRules, recordBlock } from "./core/blocks.js";
import { createLocalChain } from "./core/chain.js";
import { coreMethods } from "./core/service.js";
import { stateMethods } from "./core/state-service.js";
import { dataMethods } from "./data/index.js";
import { createStreams } from "./data/observe.js";
import { openDatabase } from "./database.js";
import { createGateway } from "./gateway.js";
import { MAX_BODY_BYTES } from "./gateway-body.js";
import { historyService } from "./history-service.js";
import { ledgerService } from "./ledger-service.js";
import { createRateLimiter, type RateLimit } from "./rate-limit.js";
import { offerReflection } from "./reflection/service.js";
import { answerUnknownMethod } from "./unknown-method.js";

/** Options of {@link startDevnode}. */
export interface DevnodeOptions {
  /** The address to listen on. The default, `127.0.0.1`, cannot be reached from other machines. */
  readonly host?: string | undefined;
  /** TCP port for gRPC; 0, the default, takes a free one. */
  readonly grpcPort?: number | undefined;
  /** TCP port for the HTTP gateway; 0, the default, takes a free one. */
  readonly restPort?: number | undefined;
  /** Identifier of the chain, 1 to 50 characters of `A-Z a-z 0-9 . _ -`; `tradewire-devnet` by default. */
  readonly chainId?: string | undefined;
  /** Number of history segments; 5 by default. From the 4th on the database schema has one more column. */
  readonly segments?: number | undefined;
  /** Number of blocks in each segment; 1000 by default. */
  readonly blocksPerSegment?: number | undefined;
  /**
   * Milliseconds from one block to the next; 1000 by default. With 0, only {@link Devnode.makeBlock} and nothing else
   * makes blocks.
   */
  readonly blockMs?: number | undefined;
  /**
   * Where transactions of version TX_VERSION_V3 carry the chain's identifier. `signed-and-submitted`, the default,
   * follows the specification (2.5); `signature-only` follows deployed nodes.
   */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
  /** Cancels the start; aborted later, it stops the node as {@link Devnode.close} does. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The limit on the calls of each address; none by default. `true` stands for that of deployed nodes: 100 calls at
   * once, 20 a second, and a ban of ten minutes for who goes on after refusals.
   */
  readonly rateLimit?: boolean | RateLimit | undefined;
}

/** A running local node. */
export interface Devnode extends AsyncDisposable {
  /** URL of the gRPC server. It also speaks Connect's own protocol. */
  readonly grpcUrl: string;
  /** URL of the HTTP gateway. */
  readonly restUrl: string;
  readonly chainId: string;
  /** Make a block of all waiting transactions at once, and return its height. */
  makeBlock(): Promise<bigint>;
  /** Stop the node and cut off calls in progress. Further calls of this function have no effect. */
  close(): Promise<void>;
}

const services = [TradingDataService, CoreService, CoreStateService];

/** Size of the HTTP/2 flow-control windows, in bytes. Node's default of 64 KiB makes large requests slow. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * Start a local node: the services of a trading network's node over gRPC and over an HTTP gateway, on an embedded
 * PostgreSQL in memory. Its history is made up, and the same on every start.
 *
 * @param options the address and TCP ports, the chain, the size of the history, and the time between blocks in
 *   milliseconds
 * @returns the running node; `close()` or `await using` stops it
 * @throws {@link RequestError} if an option has an invalid value
 * @throws {@link ConnectionError} if the node cannot listen on an address
 * @throws {@link CanceledError} if the signal is aborted during the start; nothing is left running then
 *
 * @example
 * await using node = await startDevnode();
 * const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
 */
export async function startDevnode(options: DevnodeOptions = {}): Promise<Devnode> {
  const { host = "127.0.0.1", grpcPort = 0, restPort = 0 } = options;
  const { chainId = "tradewire-devnet", segments = 5, blocksPerSegment = 1000 } = options;
  checkPort(grpcPort, "grpcPort");
  checkPort(restPort, "restPort");
  const { blockMs = 1000, chainIdPrefix = "signed-and-submitted" } = options;
  if (!Number.isInteger(blockMs) || blockMs < 0 || blockMs > 2 ** 31 - 1) {
    throw new RequestError(`blockMs is ${blockMs}`, { advice: "Give whole milliseconds, or 0 for no blocks." });
  }
  const { signal, rateLimit = false } = options;
  const limiter = rateLimit === false ? undefined : createRateLimiter(rateLimit === true ? {} : rateLimit);
  const database = await openDatabase({ chainId, segments, blocksPerSegment, signal });
  const { pg } = database;
  const rules = await readSpamRules(pg);
  const chain = createLocalChain({
    chainId,
    chainIdPrefix,
    history: await readLastBlocks(pg, rules.pastBlocks + 1),
    rules,
    record: (block) => recordBlock(pg, block),
    execute: (command) => applyCommand(pg, command),
  });
  const makeBlock = async () => (await chain.makeBlock()).height;
  const clock = blockMs === 0 ? undefined : setInterval(() => void chain.makeBlock(), blockMs);
  const streams = createStreams(chain);
  const routes = (router: ConnectRouter) => {
    router.service(CoreService, coreMethods({ chain, chainId, rules, pg, streams }));
    router.service(CoreStateService, stateMethods(pg));
    router.service(TradingDataService, {
      ...historyService(database),
      ...ledgerService(database),
      ...dataMethods(pg, chain, streams),
    });
    offerReflection(router, services);
  };
  const jsonOptions = { registry: knownTypes };
  const grpc = createHttp2Server(
    { settings: { initialWindowSize: WINDOW_BYTES } },
    connectNodeAdapter({
      routes,
      jsonOptions,
      readMaxBytes: MAX_BODY_BYTES,
      fallback: answerUnknownMethod,
      ...(limiter && { interceptors: [limiter.interceptor], contextValues: limiter.contextValues }),
    }),
  );
  const gateway = createGateway(createRouterTransport(routes), services);
  const rest = createHttpServer(limiter?.limited(gateway) ?? gateway);
  const sessions = trackSessions(grpc);
  const stopAll = async () => {
    signal?.removeEventListener("abort", close);
    clearInterval(clock);
    for (const session of sessions) {
      session.destroy();
    }
    rest.closeAllConnections();
    await Promise.all([stop(grpc), stop(rest)]);
    await database.close();
  };
  let stopping: Promise<void> | undefined;
  const close = () => {
    stopping ??= stopAll();
    return stopping;
  };
  try {
    const grpcUrl = await listen(grpc, host, grpcPort);
    const restUrl = await listen(rest, host, restPort);
    if (signal?.aborted === true) {
      throw new CanceledError({ cause: signal.reason });
    }
    signal?.addEventListener("abort", close);
    return { grpcUrl, restUrl, chainId, makeBlock, close, [Symbol.asyncDispose]: close };
  } catch (reason) {
    await close();
    throw reason;
  }
}

function checkPort(port: number, name: string): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new RequestError(`${name} is ${port}`, { advice: "Give a TCP port from 1 to 65535, or 0 for a free one." });
  }
}

function trackSessions(server: Http2Server): Set<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  return sessions;
}

async function listen(server: Server | Http2Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(
        new ConnectionError(`${host}:${port} cannot be listened on: ${cause.message}`, {
          code: Code.Unavailable,
          advice: "Choose another port, or 0 for a free one.",
          cause,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
}

function stop(server: NetServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
