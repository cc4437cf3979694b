import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { gzipSync } from "node:zlib";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { ConnectionError, RequestError } from "../../base/errors/index.js";
import { hasBody, hostCheck, limitWaiting } from "../../base/http-server/hardening.js";
import { assertKnownKeys, invalidTypeError } from "../../base/input/assert.js";
import { snapshot as snapshotOf } from "../../base/input/snapshot.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { onAbort } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import { jsonReplacer } from "../../wire/json/json-values.js";
import { createQueueCounts, loadMetrics, METRICS_TYPE, type QueueCounts } from "./metrics.js";
import { page, pageScript, pageStyle } from "./page.js";
import { isReady, type SyncSnapshot } from "./sync-snapshot.js";
import type { SyncState } from "./sync-state.js";

/** Maximum number of connections without a complete request, and of all connections. */
const MAX_WAITING = 128;
const MAX_CONNECTIONS = 192;
/** Time limits until a request is complete, and of an idle connection. */
const REQUEST_MS = 5000;
const INACTIVE_MS = 15_000;
/** Responses of more bytes are compressed if the client accepts that. */
const ZIPPED_BYTES = 4096;
/** Maximum size of a request's head. */
const MAX_HEAD_BYTES = 8 * 1024;
/** Maximum time without an event while there is work. */
const STALL_MS = 15 * 60_000;

/** Options of the server. */
export interface WatchOptions {
  /** `host:port`; without a host, 127.0.0.1. Everyone who can reach it can read it: there is no password. */
  readonly listen: string;
  readonly state: SyncState;
  /**
   * Additional hostnames to accept in the `Host` header, such as a container's; those of this machine are always
   * accepted.
   */
  readonly names?: readonly string[] | undefined;
  /** Counts the units of a queue by state, for example `{ created: 3000, active: 4, failed: 1 }`. */
  readonly queue?: QueueCounts | undefined;
  /** Milliseconds without an event, although there is work, after which `/healthz` fails; 15 minutes by default. */
  readonly stallMs?: number | undefined;
  /** Closes the server. */
  readonly signal?: AbortSignal | undefined;
}

/** A running server. */
export interface Watch extends AsyncDisposable {
  /** For example `http://127.0.0.1:9464`, with the actual port. */
  readonly url: string;
  /** Closes the server and all connections. */
  close(): Promise<void>;
}

/**
 * Serves the state of a sync: `/` is a page for people, `/state` the same as JSON (64-bit numbers as strings),
 * `/metrics` for Prometheus, `/healthz` (200, or 503 if there was no event for `stallMs` although there is work) and
 * `/readyz` (200 after the first plan, 503 before it and while the sync waits for node or sink).
 *
 * @param options the address, and the state that is served
 * @returns the running server; `close()`, `await using` or the signal closes it
 * @throws `RequestError` if `listen` is not an address, or an option is unknown or wrong
 * @throws `ConnectionError` if the address cannot be used, for example because the port is taken
 *
 * @example
 * const state = createSyncState();
 * await using watch = await startWatch({ listen: "127.0.0.1:9464", state });
 * console.log(`see ${watch.url}`);
 * await syncHistory(client, { sink, follow: true, hooks: { onEvent: state.take } });
 */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  options = snapshotOf(options);
  assertKnownKeys("options", options, {
    listen: true,
    state: true,
    names: true,
    queue: true,
    stallMs: true,
    signal: true,
  });
  const { listen, state, names = [], queue, stallMs = STALL_MS, signal } = options;
  if (typeof state?.snapshot !== "function") {
    throw invalidTypeError("state", state, "a result of createSyncState()");
  }
  const { host, port } = parseListen(listen);
  throwIfAborted(signal);
  const [writeMetrics, queueCounts] = [await loadMetrics(), createQueueCounts(queue)];
  const snapshot = async () => {
    const counts = await queueCounts();
    return { ...state.snapshot(), ...(counts && { queue: counts }) };
  };
  const answer = createRequestHandler({ snapshot, writeMetrics, stallMs, isOwnHost: hostCheck(host, names) });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: REQUEST_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 1000,
    },
    (request, response) => void answer(request).then((made) => send(request, response, made)),
  );
  limitWaiting(server, MAX_WAITING);
  server.maxConnections = MAX_CONNECTIONS;
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
  const leave = onAbort(signal, () => void close());
  if (signal?.aborted === true) {
    await close();
    throwIfAborted(signal);
  }
  return { url, close, [Symbol.asyncDispose]: close };
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: WatchResponse): void {
  const zipped = body.length > ZIPPED_BYTES && /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const bytes = zipped ? gzipSync(body, { level: 1 }) : Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    ...(zipped && { "content-encoding": "gzip" }),
    "content-length": bytes.length,
    ...(hasBody(request) && { connection: "close" }), // A body that was not asked for is not read.
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

async function listenOn(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.on("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "address already in use" : cause.message;
      reject(
        new ConnectionError(`cannot listen on ${host}:${port}: ${why}`, {
          code: Code.Unavailable,
          advice: "Use another address or port. Port 0 picks a free port.",
          cause,
          errorCode: "TW_LISTEN",
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const taken = typeof bound === "object" && bound !== null ? bound.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
}

export interface ListenAddress {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

const LOOPBACK = "127.0.0.1";
const FORM = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]*)):(?<port>\d{1,5})$/i;

/**
 * Parses a listen address.
 *
 * @throws {@link RequestError} if it is invalid
 *
 * @example
 * parseListen("127.0.0.1:9464"); // { host: "127.0.0.1", port: 9464 }
 */
export function parseListen(listen: string): ListenAddress {
  const { v6, name, port: digits } = FORM.exec(listen)?.groups ?? {};
  const port = Number(digits);
  if (digits === undefined || port > 65_535 || (v6 !== undefined && isIP(v6) !== 6)) {
    throw new RequestError(`listen must be host:port, such as 127.0.0.1:9464 or [::1]:9464 (got ${quoted(listen)})`, {
      advice: "Port 0 picks a free port.",
    });
  }
  return { host: v6 ?? (name || LOOPBACK), port };
}

interface WatchResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface RequestHandlerOptions {
  readonly snapshot: () => Promise<SyncSnapshot>;
  readonly writeMetrics: (snapshot: SyncSnapshot) => Promise<string>;
  /** Milliseconds without an event, although there is work, after which `/healthz` fails. */
  readonly stallMs: number;
  /** Returns whether a `Host` header names this server. */
  readonly isOwnHost: (header: string | undefined) => boolean;
}

/** How long a snapshot is cached for all clients. */
const CACHE_MS = 200;

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const SAFE = {
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${hash(pageScript)}`,
    `style-src ${hash(pageStyle)}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

function createRequestHandler({ snapshot, writeMetrics, stallMs, isOwnHost }: RequestHandlerOptions) {
  const shared = cachedFor(CACHE_MS, snapshot);
  const state = cachedFor(CACHE_MS, async () => JSON.stringify(await shared(), jsonReplacer));
  const metrics = cachedFor(CACHE_MS, async () => writeMetrics(await shared()));
  const routes: Readonly<Record<string, () => Promise<WatchResponse>>> = {
    "/": async () => answer(200, "text/html; charset=utf-8", page),
    "/state": async () => answer(200, "application/json", await state()),
    "/metrics": async () => answer(200, METRICS_TYPE, await metrics()),
    "/healthz": async () => {
      const { silentSeconds } = await shared();
      return silentSeconds * 1000 <= stallMs
        ? text(200, "ok")
        : text(503, `no progress for ${Math.floor(silentSeconds)} s while there is work`);
    },
    "/readyz": async () => {
      const now = await shared();
      return isReady(now) ? text(200, "ok") : text(503, now.waiting?.message ?? "no plan yet");
    },
  };
  return async ({ method, url = "", headers }: IncomingMessage): Promise<WatchResponse> => {
    if (!isOwnHost(headers.host)) {
      return text(421, "this hostname is not accepted; add it with --http-name, or in names");
    }
    const [path = ""] = url.split("?", 1);
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) {
      return text(404, "not found; valid paths: /, /state, /metrics, /healthz and /readyz");
    }
    if (method !== "GET" && method !== "HEAD") {
      return text(405, "only GET and HEAD", { allow: "GET, HEAD" });
    }
    return await route().catch(() => text(500, "cannot show the state"));
  };
}

function text(status: number, line: string, headers: WatchResponse["headers"] = {}): WatchResponse {
  return answer(status, "text/plain; charset=utf-8", `${line}\n`, headers);
}

function answer(status: number, type: string, body: string, headers: WatchResponse["headers"] = {}): WatchResponse {
  return { status, headers: { ...SAFE, ...headers, "content-type": type }, body };
}

/** Caches a value for some milliseconds. */
function cachedFor<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let held: { readonly value: Promise<T>; readonly until: number } | undefined;
  return () => {
    if (held === undefined || monotonicMs() >= held.until) {
      held = { value: make(), until: monotonicMs() + ms };
    }
    return held.value;
  };
}
