/**
 * The local node: a trading network of one node, for tests and for trying things.
 *
 * @module tradewire/devnode
 */

import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { join } from "node:path";
import { Code, type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "../../gen/vega/api/v1/corestate_pb.js";
import { fileError } from "../errors/file-error.js";
import { CanceledError, ConnectionError, RequestError } from "../errors/index.js";
import { type LockInUse, STALE_MS, sweepLocks, takeLock } from "../file/lock.js";
import { makeFolder } from "../file/make-folder.js";
import { hostCheck } from "../http-server/own-host.js";
import { knownTypes } from "../json/any.js";
import { startInterval } from "../runtime/index.js";
import { withAdmin } from "./admin.js";
import { openCheckpoints } from "./checkpoint.js";
import { type Controls, createControls, type Storage } from "./controls.js";
import { coreMethods } from "./core/service.js";
import { stateMethods } from "./core/state-service.js";
import { withCors } from "./cors.js";
import { dataMethods } from "./data/index.js";
import { DEV_MNEMONIC, devKeys } from "./dev-keys.js";
import { createFailures } from "./failures.js";
import { createGateway } from "./gateway.js";
import { MAX_BODY_BYTES } from "./gateway-body.js";
import { createGatewaySockets } from "./gateway-socket.js";
import { historyService } from "./history-service.js";
import { openJournal } from "./journal.js";
import { ledgerListing } from "./ledger-listing.js";
import { ledgerService } from "./ledger-service.js";
import { createLocalNetwork, type LocalNetwork } from "./local-network.js";
import { checkOptions, type DevnodeOptions } from "./options.js";
import { createRateLimiter } from "./rate-limit.js";
import { offerReflection, reflectionServices } from "./reflection/service.js";
import { snapshotMethods } from "./snapshots.js";
import { answerUnknownMethod } from "./unknown-method.js";
import { takeUpgrades } from "./upgrade.js";

export type { Controls } from "./controls.js";
export type { Failure } from "./failure.js";
export type { Genesis } from "./history/history.js";
export type { TransactionFailure } from "./local-network.js";
export type { DevnodeOptions } from "./options.js";
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
  /** The mnemonic of the keys. Everybody knows it. */
  readonly mnemonic: string;
  /** Stop the node and cut off calls in progress. Further calls of this function have no effect. */
  close(): Promise<void>;
}

const services = [TradingDataService, CoreService, CoreStateService];

/** Size of the HTTP/2 flow-control windows, in bytes. Node's default of 64 KiB makes large requests slow. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * Start a local node: a network of one, with the services of a trading network's node over gRPC and over an HTTP
 * gateway. It begins with a made-up history, the same on every start, and goes on from there: blocks are made, orders
 * trade, and new history segments appear.
 *
 * @param options where it listens, the chain and its history, what makes blocks, and how it behaves
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
  const checked = checkOptions(options);
  const { host, chainId, blockMs, signal, rateLimit } = checked;
  throwIfAborted(signal);
  const limiter = rateLimit === undefined ? undefined : createRateLimiter(rateLimit);
  const failures = createFailures([...services, ...reflectionServices]);
  const grpc = createHttp2Server({ settings: { initialWindowSize: WINDOW_BYTES } });
  const rest = createHttpServer();
  const sessions = trackSessions(grpc);
  const cleanups: (() => void | Promise<void>)[] = [];
  const stopAll = async () => {
    const cleaned = cleanups.splice(0).map((cleanUp) => cleanUp());
    for (const session of sessions) {
      session.destroy();
    }
    rest.closeAllConnections();
    await Promise.all([stop(grpc), stop(rest), ...cleaned]);
  };
  let stopping: Promise<void> | undefined;
  const close = () => {
    stopping ??= stopAll();
    return stopping;
  };
  const held = [holdBack(grpc, "request"), holdBack(rest, "request"), holdBack(rest, "upgrade")];
  cleanups.push(...held.map(({ drop }) => drop));
  try {
    // A port that is taken is found before anything is built.
    const grpcUrl = await listen(grpc, host, checked.grpcPort);
    const restUrl = await listen(rest, host, checked.restPort);
    throwIfAborted(signal);
    const storage = checked.dataDir === undefined ? undefined : await openStorage(checked.dataDir, checked);
    cleanups.push(() => storage?.close());
    const network = createLocalNetwork(checked);
    const { finish, ...controls } = createControls(network, failures, storage, () => stopping !== undefined);
    cleanups.unshift(finish);
    const routes = (router: ConnectRouter) => addServices(router, network, checked);
    const adapter = connectNodeAdapter({
      routes,
      jsonOptions: { registry: knownTypes },
      readMaxBytes: MAX_BODY_BYTES,
      fallback: answerUnknownMethod,
      interceptors: [...(limiter === undefined ? [] : [limiter.interceptor]), failures.interceptor],
      ...(limiter && { contextValues: limiter.contextValues }),
    });
    grpc.on("request", failures.breakable(adapter));
    const router = createRouterTransport(routes, { router: { interceptors: [failures.interceptor] } });
    const gateway = withCors(createGateway(router, services, checked.profile));
    const isOwnHost = hostCheck(host, checked.adminNames);
    const open = checked.admin ? withAdmin(gateway, { controls, isOwnHost }) : gateway;
    const limited = limiter?.limited ?? ((listener) => listener);
    rest.on("request", failures.breakable(limited(open)));
    const upgrade = createGatewaySockets(router, services);
    cleanups.push(takeUpgrades(rest, { upgrade, answer: open, limited, failures }));
    const makeBlock = () => void controls.makeBlock().catch(endClock);
    const stopClock = blockMs === 0 ? () => {} : startInterval(makeBlock, blockMs);
    cleanups.push(stopClock);
    function endClock(reason: unknown): void {
      stopClock();
      process.emitWarning(`the local node makes no more blocks: ${String(reason)}`);
    }
    for (const { release } of held) {
      release();
    }
    signal?.addEventListener("abort", close);
    cleanups.push(() => signal?.removeEventListener("abort", close));
    const identity = { grpcUrl, restUrl, chainId, keys: devKeys, mnemonic: DEV_MNEMONIC };
    return { ...identity, ...controls, close, [Symbol.asyncDispose]: close };
  } catch (reason) {
    await close();
    throw reason;
  }
}

interface OpenStorage extends Storage {
  close(): Promise<void>;
}

async function openStorage(
  folder: string,
  { settings, genesis }: ReturnType<typeof checkOptions>,
): Promise<OpenStorage> {
  makeFolder(folder);
  const path = join(folder, "lock");
  await sweepLocks(folder).catch(() => undefined); // What cannot be read is said below.
  const lock = await takeLock(path).catch((reason: unknown) => {
    throw fileError(reason, path);
  });
  if (!lock.held) {
    throw inUse(folder, lock);
  }
  try {
    const journal = openJournal(folder, settings, {
      requireLock() {
        if (!lock.isHeld()) {
          throw lost(folder);
        }
      },
    });
    const checkpoints = openCheckpoints(folder, { settings, genesis }, journal);
    const close = async () => {
      journal[Symbol.dispose]();
      await lock[Symbol.asyncDispose]();
    };
    return { journal, checkpoints, close };
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
}

function lost(folder: string): RequestError {
  return new RequestError(
    `the lock of ${folder} was taken by another node, or removed, while this one was suspended, so it writes nothing more`,
    { advice: "Stop this node, and start it again once that one has ended, or with another folder." },
  );
}

function inUse(folder: string, { pid }: LockInUse): RequestError {
  return new RequestError(
    `${folder} is in use by ${pid === undefined ? "another node" : `the node of process ${pid}`}`,
    {
      advice: `Stop that node, or give another folder. If it was killed on another machine or in another container, the folder is free within ${STALE_MS / 1000} seconds.`,
    },
  );
}

function addServices(
  router: ConnectRouter,
  network: LocalNetwork,
  { chainId, profile }: ReturnType<typeof checkOptions>,
): void {
  router.service(CoreService, coreMethods({ ...network, chainId, profile }));
  router.service(CoreStateService, stateMethods(network));
  router.service(TradingDataService, {
    ...historyService(network.history, { profile }),
    ...ledgerService(network.history),
    ...ledgerListing(network.history),
    ...snapshotMethods(network.history, network.world),
    ...dataMethods({ ...network, chainId, profile }),
  });
  offerReflection(router, services);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ what: "the start of the local node", cause: signal.reason, mayHaveLeft: false });
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
      const isOfHost = "code" in cause && (cause.code === "ENOTFOUND" || cause.code === "EADDRNOTAVAIL");
      reject(
        new ConnectionError(`${host}:${port} cannot be listened on: ${cause.message}`, {
          code: Code.Unavailable,
          advice: isOfHost
            ? "Choose an address that this machine has, such as 127.0.0.1."
            : "Choose another port, or 0 for a free one.",
          cause,
          section: "connectionerror-not-listening",
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
}

/**
 * Keep what comes to a port before the node can answer it: a client that finds the port open again, such as that of a node
 * that is started anew, would wait for an answer that nobody gives.
 */
function holdBack(server: NetServer, event: "request" | "upgrade"): { release(): void; drop(): void } {
  const held: [IncomingMessage | Http2ServerRequest, ...unknown[]][] = [];
  const hold = (...request: (typeof held)[number]) => held.push(request);
  server.on(event, hold);
  return {
    release() {
      server.off(event, hold);
      for (const request of held.splice(0)) {
        server.emit(event, ...request);
      }
    },
    drop() {
      for (const [{ socket }] of held.splice(0)) {
        socket.destroy();
      }
    },
  };
}

function stop(server: NetServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
