import { isIP } from "node:net";
import type { Registry } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { ConnectionOptions } from "../../base/runtime/index.js";
import type { ProxyConfig } from "../config/client-config.js";
import type { TlsSource } from "./tls-source.js";

/** A Connect transport that must be closed. */
export interface ClosableTransport extends Transport, AsyncDisposable {
  /** Closes all connections; calls in flight fail. Further calls of `close` have no effect. */
  close(): Promise<void>;
}

export type { AnyTransport } from "../config/client-config.js";

/** The settings of every transport, in addition to those of its endpoint. */
export interface TransportSettings {
  /** The time limit for connecting, in milliseconds. */
  readonly connectMs: number;
  /** The types that an `Any` in JSON may hold; by default those of error details. */
  readonly registry?: Registry | undefined;
  /** The proxy of the configuration; by default connections are direct. */
  readonly proxy?: ProxyConfig | undefined;
  /** The certificates and keys of the configuration's `tls`, which several nodes share; by default they are read. */
  readonly tls?: TlsSource | undefined;
}

/** Headers in any form that the `Headers` constructor accepts. */
export type HeaderInit = ConstructorParameters<typeof Headers>[0];

/** The settings of a transport that its errors and requests need. */
export interface Endpoint {
  /** The transport's name in the configuration. */
  readonly name: string;
  /** The node's URL. */
  readonly url: string;
  /** Addresses to connect to instead of the URL's host. */
  readonly addresses?: readonly string[] | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether headers may be sent over plain HTTP to other machines. */
  readonly allowInsecureHeaders?: boolean | undefined;
  /** The types that the details of errors may have; by default those of the network. */
  readonly registry?: Registry | undefined;
}

/** The time limit for the reply to a ping, in milliseconds, unless pings are sent more often. */
const PING_REPLY_MS = 15_000;

/**
 * The time without data after which the operating system probes a connection, in milliseconds. On Linux and macOS, it is then
 * probed once a second, ten times, so a dead peer is detected about ten seconds later.
 */
export const TCP_KEEPALIVE_MS = 60_000;

/**
 * The time between two pings over a WebSocket, in milliseconds. Proxies drop a WebSocket after 30 seconds without data. A server
 * that sends nothing between two pings counts as dead.
 */
export const WEBSOCKET_PING_MS = 25_000;

/**
 * The maximum time for which an idle connection of `rest` or `grpc-js` is reused, in milliseconds. Load balancers and NATs drop
 * idle connections after a minute or more, some without closing them.
 */
export const MAX_IDLE_MS = 55_000;

/**
 * The idle time after which a connection is suspect, in milliseconds: a proxy may have dropped it silently.
 */
export const SUSPECT_AFTER_MS = 250;

export function pingReplyMs(keepaliveMs: number): number {
  return Math.min(PING_REPLY_MS, keepaliveMs);
}

export function connectionOptions(url: string, protocol?: string): ConnectionOptions & { readonly host: string } {
  const { protocol: scheme, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (scheme !== "https:") {
    return { host, port: Number(port || 80) };
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const alpn = protocol === undefined ? {} : { ALPNProtocols: [protocol] };
  return { host, port: Number(port || 443), tls: { ...servername, ...alpn } };
}

/** The version of this package. */
const VERSION = "0.1.0";

/** The value of `user-agent` in requests. */
export const USER_AGENT = `tradewire/${VERSION}`;
