import type { Socket } from "node:net";
import { Code } from "../../base/errors/code.js";
import type { ErrorText } from "../../base/errors/error-text.js";
import { ConnectionError } from "../../base/errors/index.js";
import { networkFailure } from "../../base/errors/network-failure.js";
import { proxyName } from "../config/proxy.js";

/** The maximum size of the header of a proxy's response, in bytes. */
const MAX_PROXY_HEADER_BYTES = 16 * 1024;

/** The beginning of every response of HTTP/1. */
const HTTP_PREFIX = Buffer.from("HTTP/1.");

/** The server at the end of a tunnel. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Has a proxy connect to a server (CONNECT, RFC 9110, 9.3.6). Bytes that follow the response belong to the server and can
 * still be read from the connection.
 *
 * @throws {@link ConnectionError} if the proxy refuses, or its response is invalid; the signal's reason if it is aborted
 */
export async function openTunnel(
  socket: Socket,
  target: TunnelTarget,
  proxy: string,
  signal: AbortSignal,
): Promise<void> {
  const authority = `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
  const { username, password } = new URL(proxy);
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const hasCredentials = credentials !== ":";
  const fields = [
    `CONNECT ${authority} HTTP/1.1`,
    `Host: ${authority}`,
    ...(hasCredentials ? [`Proxy-Authorization: Basic ${Buffer.from(credentials).toString("base64")}`] : []),
  ];
  socket.write(`${fields.join("\r\n")}\r\n\r\n`);
  const status = await readStatus(socket, proxy, signal);
  if (status < 200 || status > 299) {
    throw refusedByProxy(proxy, authority, status, hasCredentials);
  }
}

/** Reads the header of the final response, and returns its status. */
function readStatus(socket: Socket, proxy: string, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const settle = (outcome: () => void) => {
      socket.off("readable", onReadable).off("error", onError).off("close", onClose).off("end", onClose);
      signal.removeEventListener("abort", onAbort);
      outcome();
    };
    const fail = (error: Error) => settle(() => reject(error));
    const onAbort = () => fail(signal.reason);
    const onError = (reason: Error) =>
      fail(proxyFailure(proxy, `broke the connection: ${reasonOf(reason, proxy)}`, reason));
    const onClose = () => fail(proxyFailure(proxy, "closed the connection before it responded"));
    const onReadable = () => {
      for (let bytes: Buffer | null = socket.read(); bytes !== null; bytes = socket.read()) {
        received = Buffer.concat([received, bytes]);
      }
      const header = parseHeader(received);
      if (header === "invalid") {
        fail(proxyFailure(proxy, "does not speak HTTP"));
      } else if (header !== undefined) {
        const rest = received.subarray(header.length);
        settle(() => resolve(header.status));
        if (rest.length > 0) {
          socket.unshift(rest);
        }
      } else if (received.length > MAX_PROXY_HEADER_BYTES) {
        fail(proxyFailure(proxy, `sent a header of more than ${MAX_PROXY_HEADER_BYTES} bytes`));
      }
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", onError).on("close", onClose).on("end", onClose).on("readable", onReadable);
    if (signal.aborted) {
      onAbort();
    }
  });
}

/** Returns status and length of the header of the first final response in some bytes; undefined if it is incomplete. */
function parseHeader(bytes: Buffer): { readonly status: number; readonly length: number } | "invalid" | undefined {
  for (let start = 0; ; ) {
    const response = bytes.subarray(start, start + MAX_PROXY_HEADER_BYTES);
    const prefix = response.subarray(0, HTTP_PREFIX.length);
    if (!prefix.equals(HTTP_PREFIX.subarray(0, prefix.length))) {
      return "invalid";
    }
    const end = /\r?\n\r?\n/.exec(response.toString("latin1"));
    if (end === null) {
      return undefined;
    }
    const digits = /^HTTP\/1\.\d (\d{3})(?: |\r?\n)/.exec(response.toString("latin1"))?.[1];
    if (digits === undefined) {
      return "invalid";
    }
    const status = Number(digits);
    start += end.index + end[0].length;
    if (status >= 200) {
      return { status, length: start };
    }
  }
}

const ADVICE: ErrorText = (nameOf) =>
  `Nothing was sent. Check ${nameOf("proxy")}, or HTTPS_PROXY and HTTP_PROXY. List hosts that need no proxy in NO_PROXY.`;

function refusedByProxy(proxy: string, authority: string, status: number, hasCredentials: boolean): ConnectionError {
  // tinyproxy answers 401 to wrong credentials.
  if (status === 407 || status === 401) {
    const what = hasCredentials ? "refused the username and password" : "requires a username and password";
    return proxyError(proxy, `${what} (HTTP ${status})`, {
      code: Code.Unauthenticated,
      advice: (nameOf) =>
        `Nothing was sent. Put them into the proxy's URL, such as http://user:password@proxy.example:3128, in ${nameOf("proxy")} or HTTPS_PROXY.`,
    });
  }
  return status >= 500
    ? proxyError(proxy, `cannot connect to ${authority} (HTTP ${status})`, {
        code: Code.Unavailable,
        advice: "Nothing was sent. Check that the server is running, the URL and the proxy.",
      })
    : proxyError(proxy, `refuses to connect to ${authority} (HTTP ${status})`, {
        code: Code.PermissionDenied,
        advice: "Nothing was sent. Ask the proxy's operator to allow this host and port, or add the host to NO_PROXY.",
      });
}

function proxyFailure(proxy: string, what: string, cause?: unknown): ConnectionError {
  return proxyError(proxy, what, { code: Code.Unavailable, advice: ADVICE, cause });
}

/** Returns the error of a proxy that could not be reached. */
export function unreachableProxy(proxy: string, reason: unknown): ConnectionError {
  return proxyFailure(proxy, `is unreachable: ${reasonOf(reason, proxy)}`, reason);
}

/** Returns the error of a proxy that did not answer before the time limit for connecting. */
export function silentProxy(proxy: string): ConnectionError {
  return proxyFailure(proxy, "did not respond in time");
}

const reasonOf = (reason: unknown, proxy: string) => networkFailure(reason, proxy)?.summary ?? "the connection failed";

function proxyError(
  proxy: string,
  what: string,
  options: { readonly code: Code; readonly advice: ErrorText; readonly cause?: unknown },
): ConnectionError {
  return new ConnectionError(`the proxy ${proxyName(proxy)} ${what}`, {
    ...options,
    connected: false,
    errorCode: "TW_PROXY",
  });
}
