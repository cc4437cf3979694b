import { Agent, type IncomingMessage, request as startRequest } from "node:http";
import { markConnecting, markNothingReceived } from "../../../base/errors/network-failure.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import type { RestConfig } from "../../config/client-config.js";
import { createConnector, type OpenOptions } from "../connector.js";
import { createTlsSource } from "../tls-source.js";
import { MAX_IDLE_MS, SUSPECT_AFTER_MS, TCP_KEEPALIVE_MS, type TransportSettings } from "../transport-types.js";
import { HEADER_LIMITS } from "./response-headers.js";

/** A request to the gateway. */
export interface HttpRequest {
  readonly verb: string;
  /** Path and query string, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** Sends requests to one server, on connections that are reused. */
export interface StreamingClient {
  /** Sends a request; resolves when the response's header has arrived, before its body. */
  send(request: HttpRequest): Promise<IncomingMessage>;
  /** Closes all connections. */
  close(): void;
}

/**
 * Creates a client of an HTTP/1.1 server whose responses stream, on Node's HTTP. A call that is aborted while it
 * connects ends immediately.
 *
 * @throws {@link FileError} if a file of `config.tls` cannot be read
 */
export function createStreamingClient(
  { url, tls: files }: RestConfig,
  { connectMs, proxy, tls = createTlsSource(files) }: TransportSettings,
): StreamingClient {
  const { protocol, hostname, port } = new URL(url);
  const connector = createConnector({ url, tls, proxy, connectMs, protocol: "http/1.1" });
  const agent = new Agent({ keepAlive: true });
  // The connector speaks TLS, so Node's HTTP sees connections in clear text.
  const server = { agent, defaultPort: protocol === "https:" ? 443 : 80, host: hostname.replace(/^\[|\]$/g, ""), port };
  agent.createConnection = (options, onCreate) => onCreate && options.createConnection?.(options, onCreate);
  /** When connections became idle, by `monotonicMs()`. */
  const idleSince = new WeakMap<object, number>();
  agent.on("free", (socket: object) => idleSince.set(socket, monotonicMs()));
  const connecting = new Set<(reason: Error) => void>();

  /** Destroys the connections that have been idle for a time, in milliseconds. */
  function destroyIdle(sinceMs: number): void {
    const latest = monotonicMs() - sinceMs;
    for (const socket of Object.values(agent.freeSockets).flat()) {
      if (socket !== undefined && (idleSince.get(socket) ?? latest) <= latest) {
        socket.destroy();
      }
    }
  }

  return {
    send: ({ verb, target, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        destroyIdle(MAX_IDLE_MS);
        const opening = new AbortController();
        const request = startRequest({
          ...server,
          maxHeaderSize: HEADER_LIMITS.maxHeaderSize,
          path: target,
          method: verb,
          headers: { ...headers },
          createConnection(_, onCreate) {
            connecting.add(fail);
            connector.open({ signal: opening.signal, onRead }).then((socket) => onCreate(null, socket), fail);
            return undefined;
          },
        });
        request.maxHeadersCount = HEADER_LIMITS.maxHeadersCount;
        let isConnecting = true;
        function onError(reason: Error): void {
          const hasReceived = request.socket !== null && request.socket.bytesRead > 0;
          reject(isConnecting ? markConnecting(reason) : hasReceived ? reason : markNothingReceived(reason));
        }
        function fail(reason: Error): void {
          onError(reason);
          opening.abort(reason);
          request.destroy(reason);
        }
        const startedAt = monotonicMs();
        const abortRequest = () => {
          const isSuspect = request.reusedSocket && monotonicMs() - startedAt >= SUSPECT_AFTER_MS;
          fail(new Error("aborted", { cause: signal.reason }));
          if (isSuspect) {
            destroyIdle(0); // A proxy may have forgotten this connection, and with it those that are as old.
          }
        };
        signal.addEventListener("abort", abortRequest, { once: true });
        request.on("error", onError);
        request.on("close", () => {
          connecting.delete(fail);
          signal.removeEventListener("abort", abortRequest);
          // Node does not report a response with status 101. It closes the connection without an event.
          onError(Object.assign(new Error("closed before a response"), { code: "ECONNRESET" }));
        });
        request.on("socket", (socket) => {
          isConnecting = false;
          connecting.delete(fail);
          socket.setKeepAlive(true, TCP_KEEPALIVE_MS); // While it is idle, the agent has it probed each second.
        });
        request.on("response", (response) => {
          // To destroy the request now could destroy a connection that serves another one; the response cannot do that.
          signal.removeEventListener("abort", abortRequest);
          abortWith(signal, response);
          resolve(response);
        });
        request.end(body);
      }),
    close() {
      for (const fail of connecting) {
        fail(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
      agent.destroy();
    },
  };
}

function abortWith(signal: AbortSignal, response: IncomingMessage): void {
  const abort = () => response.destroy();
  signal.addEventListener("abort", abort, { once: true });
  response.on("close", () => signal.removeEventListener("abort", abort));
  response.on("error", () => undefined); // The body's reader gets it. Without a reader, it must not crash the process.
}

/**
 * The size of one read from a connection, in bytes. A larger size costs more in V8's garbage collections than it saves in
 * calls.
 */
const READ_BYTES = 256 * 1024;

/** The buffer that all connections are read into. Its content is parsed, or copied, before the next read. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * Makes connections in clear text share one read buffer. By default, Node allocates memory for each 64 KiB that it reads,
 * although its parser copies the bodies out of it.
 */
const onRead: OpenOptions["onRead"] = {
  buffer: readBuffer,
  callback(socket, size) {
    const bytes = readBuffer.subarray(0, size);
    const isConsumedAtOnce = socket.readableFlowing === true && socket.readableLength === 0;
    return socket.push(isConsumedAtOnce ? bytes : Buffer.from(bytes));
  },
};

/** Returns a part of a body in its own memory, in case Node's parser has not copied it. */
function ownedPart(part: Buffer): Buffer {
  return part.buffer === readBuffer.buffer ? Buffer.from(part) : part;
}

/** The number of bytes of a body that are buffered. Beyond it, the response is paused. */
const HIGH_WATER_MARK = 256 * 1024;

/** The end of a body; `reason` is there if it failed. */
type BodyEnd = { readonly reason?: unknown };

/**
 * Reads the body of a response part by part. This is faster than the response's own iterator, which has one more buffer.
 */
export function bodyOf(response: IncomingMessage, onReceive: () => void): AsyncIterable<Uint8Array> {
  const buffered: Uint8Array[] = [];
  let bufferedBytes = 0;
  let end: BodyEnd | undefined;
  let wake = () => {};

  function onEnd(outcome: BodyEnd): void {
    end ??= outcome;
    wake();
  }

  function start(): void {
    response.on("end", () => onEnd({}));
    response.on("error", (reason) => onEnd({ reason }));
    response.on("close", () => {
      onEnd({ reason: Object.assign(new Error("closed before its end"), { code: "ERR_STREAM_PREMATURE_CLOSE" }) });
    });
    response.on("data", (part: Buffer) => {
      onReceive();
      buffered.push(ownedPart(part));
      bufferedBytes += part.length;
      if (bufferedBytes > HIGH_WATER_MARK) {
        response.pause();
      }
      wake();
    });
  }

  async function next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const part = buffered.shift();
      if (part !== undefined) {
        bufferedBytes -= part.length;
        return { done: false, value: part };
      }
      if (end !== undefined) {
        if ("reason" in end) {
          throw end.reason;
        }
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        response.resume();
      });
    }
  }

  return {
    [Symbol.asyncIterator]() {
      start();
      return {
        next,
        async return() {
          response.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
