import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { requireKnown, wrong } from "../../errors/check-values.js";
import { CanceledError, ConnectionError } from "../../errors/index.js";
import { limitConnections } from "../../http-server/limit-connections.js";
import { hostCheck } from "../../http-server/own-host.js";
import { follow } from "../../signal/follow.js";
import { parseListen } from "./address.js";
import { type Answer, createAnswers } from "./answers.js";
import { loadMetrics } from "./metrics.js";
import { createQueueCounts, type QueueCounts } from "./queue-counts.js";
import type { SyncState } from "./state.js";

/** The most connections at once. */
const MAX_CONNECTIONS = 64;
/** How long a request's head may take, how long the whole of it, and how long a connection may do nothing. */
const HEAD_MS = 5000;
const REQUEST_MS = 10_000;
const INACTIVE_MS = 15_000;
/** Answers of more bytes are compressed where the client takes that. */
const ZIPPED_BYTES = 4096;
/** The largest head of a request. */
const MAX_HEAD_BYTES = 8 * 1024;
/** How long nothing may happen though there is work. */
const STALL_MS = 15 * 60_000;

/** What is served, and where. */
export interface WatchOptions {
  /** `host:port`; without a host, 127.0.0.1. Who can reach it can read it: nothing asks for a password. */
  readonly listen: string;
  readonly state: SyncState;
  /** Further names that requests may give as `Host`, such as a container's; those of this machine always may. */
  readonly names?: readonly string[] | undefined;
  /** Counts the units of a queue by state, such as `{ created: 3000, active: 4, failed: 1 }`. */
  readonly queue?: QueueCounts | undefined;
  /** For how many milliseconds nothing may happen, though there is work, until `/healthz` says so; 15 minutes by default. */
  readonly stallMs?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** A running server. */
export interface Watch extends AsyncDisposable {
  /** Such as `http://127.0.0.1:9464`, with the port that was taken. */
  readonly url: string;
  /** End it: all connections are closed. */
  close(): Promise<void>;
}

/**
 * Serve how a sync stands: `/` a page for people, `/state` the same as JSON (64-bit numbers as texts), `/metrics` for
 * Prometheus, `/healthz` (200, or 503 where nothing has happened for `stallMs` though there is work) and `/readyz` (200
 * once a plan was made, 503 before and while node or sink is waited for).
 *
 * @param options where it listens, and the state that it shows
 * @returns the running server; `close()`, `await using` or the signal ends it
 * @throws `RequestError` if `listen` is no address, or an option is unknown or wrong
 * @throws `ConnectionError` if it cannot listen there, as when the port is taken
 *
 * @example
 * const state = createSyncState();
 * await using watch = await startWatch({ listen: "127.0.0.1:9464", state });
 * console.log(`see ${watch.url}`);
 * await syncHistory(client, { sink, follow: true, hooks: { onEvent: state.take } });
 */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  requireKnown("options", options, {
    listen: true,
    state: true,
    names: true,
    queue: true,
    stallMs: true,
    signal: true,
  });
  const { listen, state, names = [], queue, stallMs = STALL_MS, signal } = options;
  if (typeof state?.snapshot !== "function") {
    throw wrong("state", state, "Give what createSyncState() has made.");
  }
  const { host, port } = parseListen(listen);
  throwIfAborted(signal);
  const [writeMetrics, queueCounts] = [await loadMetrics(), createQueueCounts(queue)];
  const snapshot = async () => {
    const counts = await queueCounts();
    return { ...state.snapshot(), ...(counts && { queue: counts }) };
  };
  const answer = createAnswers({ snapshot, writeMetrics, stallMs, isOwnHost: hostCheck(host, names) });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: HEAD_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 1000,
    },
    (request, response) => void answer(request).then((made) => send(request, response, made)),
  );
  limitConnections(server, MAX_CONNECTIONS);
  server.timeout = INACTIVE_MS;
  throwIfAborted(signal);
  const url = await listenOn(server, host, port);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise((resolve) => {
      leave();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  const leave = follow(signal, () => void close());
  if (signal?.aborted === true) {
    await close();
    throwIfAborted(signal);
  }
  return { url, close, [Symbol.asyncDispose]: close };
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ cause: signal.reason });
  }
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void {
  const zipped = body.length > ZIPPED_BYTES && /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const bytes = zipped ? gzipSync(body, { level: 1 }) : Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    ...(zipped && { "content-encoding": "gzip" }),
    "content-length": bytes.length,
    // A body that nobody asked for is not read to its end.
    ...(request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined
      ? { connection: "close" }
      : {}),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

async function listenOn(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.on("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "the port is taken" : cause.message;
      reject(
        new ConnectionError(`${host}:${port} cannot be listened on: ${why}`, {
          code: Code.Unavailable,
          advice: "Choose another address or port; port 0 takes a free one.",
          cause,
          section: "connectionerror-not-listening",
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const taken = typeof bound === "object" && bound !== null ? bound.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
}
