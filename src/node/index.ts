/**
 * The local node: a trading network with a single node, for tests and experiments.
 *
 * @module tradewire/devnode
 */

import { type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "../../gen/vega/api/v1/corestate_pb.js";
import { withCaller } from "../base/errors/caller-stack.js";
import { CanceledError } from "../base/errors/index.js";
import { hostCheck } from "../base/http-server/hardening.js";
import { snapshot } from "../base/input/snapshot.js";
import { startInterval } from "../base/runtime/index.js";
import { knownTypes } from "../wire/json/any.js";
import { withAdmin } from "./admin.js";
import { deadlineInterceptor } from "./api-error.js";
import { type Controls, createControls } from "./controls.js";
import { coreMethods, stateMethods } from "./core/core-service.js";
import { historyMethods, snapshotMethods } from "./data/history-methods.js";
import { dataMethods } from "./data/index.js";
import { ledgerExport, ledgerListing } from "./data/ledger-methods.js";
import { DEV_MNEMONIC, type DevnodeOptions, devKeys, parseDevnodeOptions } from "./devnode-options.js";
import { createFailureInjector, type FailureInjector } from "./failure-injection.js";
import { createGateway, MAX_BODY_BYTES, withCors } from "./gateway.js";
import { createGatewaySockets, handleUpgrades } from "./gateway-websocket.js";
import type { History } from "./history/history.js";
import { createLocalNetwork, type LocalNetwork } from "./local-network.js";
import { createRateLimiter } from "./rate-limit.js";
import { addReflection, reflectionServices } from "./reflection.js";
import { acceptAnyAuthority, answerUnknownMethod, createServers, type Servers } from "./servers.js";
import { openStorage } from "./storage.js";

export type { Controls } from "./controls.js";
export type { DevnodeOptions } from "./devnode-options.js";
export type { Failure } from "./failure-injection.js";
export type { Genesis } from "./history/history.js";
export type { TransactionFailure } from "./local-network.js";
export type { RateLimit } from "./rate-limit.js";

/** A running local node. */
export interface Devnode extends Controls, AsyncDisposable {
  /** URL of the gRPC server. It also speaks Connect's own protocol. */
  readonly grpcUrl: string;
  /** URL of the HTTP gateway. */
  readonly restUrl: string;
  readonly chainId: string;
  /** Public keys with balances, 64 hex digits each: the keys 1 to 10 of `mnemonic`. */
  readonly keys: readonly string[];
  /** The mnemonic of the keys. It is publicly known. */
  readonly mnemonic: string;
  /** Stops the node and aborts calls in progress. Further calls have no effect. */
  close(): Promise<void>;
}

const services = [TradingDataService, CoreService, CoreStateService];

/**
 * Starts a local node: a network with a single node, which serves a trading network's services over gRPC and over an HTTP
 * gateway. It starts with a generated history, the same on every start, and continues from there: it makes blocks, matches
 * orders and completes new history segments.
 *
 * @param options the addresses to listen on, the chain and its history, the block interval, and the node's behavior
 * @returns the running node; `close()` or `await using` stops it
 * @throws `RequestError` if an option has an invalid value
 * @throws `ConnectionError` if the node cannot listen on an address
 * @throws `FileError` if its folder cannot be read or written
 * @throws `CanceledError` if the signal is aborted during the start; nothing is left running then
 *
 * @example
 * await using node = await startDevnode({ activity: 2 });
 * const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
 */
export async function startDevnode(options: DevnodeOptions = {}): Promise<Devnode> {
  const parsed = parseDevnodeOptions(snapshot(options));
  const { host, chainId, signal } = parsed;
  throwIfAborted(signal);
  const servers = createServers();
  const cleanups = createCleanups(servers);
  const { close } = cleanups;
  try {
    // Listens first, so that a port in use is reported before anything is built.
    const ports = { grpc: parsed.grpcPort, rest: parsed.restPort };
    const urls = await withCaller(() => servers.listen(host, ports));
    throwIfAborted(signal);
    const storage = parsed.dataDir === undefined ? undefined : await openStorage(parsed.dataDir, parsed);
    cleanups.add(() => storage?.close());
    const network = createLocalNetwork(parsed);
    cleanups.add(network.close);
    const failures = createFailureInjector([...services, ...reflectionServices]);
    const { finish, ...controls } = createControls(network, failures, storage, cleanups.hasStarted);
    cleanups.addFirst(finish);
    cleanups.add(serveNetwork(servers, { network, controls, failures, options: parsed }));
    cleanups.add(startClock(controls, parsed.blockMs));
    servers.release();
    signal?.addEventListener("abort", close);
    cleanups.add(() => signal?.removeEventListener("abort", close));
    const identity = { ...urls, chainId, keys: devKeys, mnemonic: DEV_MNEMONIC };
    return { ...identity, ...controls, close, [Symbol.asyncDispose]: close };
  } catch (reason) {
    await close();
    throw reason;
  }
}

/** Collects what to do when the node closes. The servers are closed last. */
function createCleanups(servers: Servers) {
  const cleanups: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const run = async () => {
    const cleaned = cleanups.splice(0).map((cleanUp) => cleanUp());
    await Promise.all([servers.close(), ...cleaned]);
  };
  return {
    add: (cleanUp: () => void | Promise<void>) => void cleanups.push(cleanUp),
    addFirst: (cleanUp: () => void) => void cleanups.unshift(cleanUp),
    hasStarted: () => closing !== undefined,
    close() {
      closing ??= run();
      return closing;
    },
  };
}

interface Served {
  readonly network: LocalNetwork;
  readonly controls: Controls;
  readonly failures: FailureInjector;
  readonly options: ReturnType<typeof parseDevnodeOptions>;
}

/** Serves a network over gRPC and over the HTTP gateway. Returns a function that closes the gateway's WebSockets. */
function serveNetwork({ grpc, rest }: Servers, { network, controls, failures, options }: Served): () => void {
  const limiter = options.rateLimit === undefined ? undefined : createRateLimiter(options.rateLimit);
  const routes = (router: ConnectRouter) => addServices(router, network, options);
  const adapter = connectNodeAdapter({
    routes,
    jsonOptions: { registry: knownTypes },
    readMaxBytes: MAX_BODY_BYTES,
    fallback: answerUnknownMethod,
    interceptors: [...(limiter === undefined ? [] : [limiter.interceptor]), failures.interceptor, deadlineInterceptor],
    ...(limiter && { contextValues: limiter.contextValues }),
  });
  grpc.on("request", failures.wrapListener(acceptAnyAuthority(adapter)));
  const router = createRouterTransport(routes, {
    router: { interceptors: [failures.interceptor, deadlineInterceptor] },
  });
  const gateway = withCors(createGateway(router, services, options.profile));
  const isOwnHost = hostCheck(options.host, options.adminNames);
  const listener = options.admin ? withAdmin(gateway, { controls, isOwnHost }) : gateway;
  const limited = limiter?.limited ?? ((unlimited) => unlimited);
  rest.on("request", failures.wrapListener(limited(listener)));
  return handleUpgrades(rest, {
    upgrade: createGatewaySockets(router, services),
    fallback: listener,
    limited,
    failures,
  });
}

/** Makes a block in each interval, until the returned function is called or a block fails. */
function startClock(controls: Controls, blockMs: number): () => void {
  const stop = blockMs === 0 ? () => {} : startInterval(() => void controls.makeBlock().catch(endClock), blockMs);
  function endClock(reason: unknown): void {
    stop();
    process.emitWarning(`the local node stopped making blocks: ${String(reason)}`);
  }
  return stop;
}

function addServices(
  router: ConnectRouter,
  network: LocalNetwork,
  { chainId, profile }: ReturnType<typeof parseDevnodeOptions>,
): void {
  const ledger = committedLedger(network);
  router.service(CoreService, coreMethods({ ...network, chainId, profile }));
  router.service(CoreStateService, stateMethods(network));
  router.service(TradingDataService, {
    ...historyMethods(network.history, { profile }),
    ...ledgerExport(ledger),
    ...ledgerListing(ledger),
    ...snapshotMethods(network.history, network.world),
    ...dataMethods({ ...network, chainId, profile }),
  });
  addReflection(router, services);
}

/** Returns the ledger without the entries of blocks that are not committed. */
function committedLedger({ history, uncommitted }: LocalNetwork): Pick<History, "ledger"> {
  return {
    async *ledger(signal) {
      const end = uncommitted()?.time;
      for await (const entry of history.ledger(signal)) {
        if (end !== undefined && entry.time >= end) {
          return;
        }
        yield entry;
      }
    },
  };
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ what: "the start of the local node", cause: signal.reason, mayHaveBeenSent: false });
  }
}
