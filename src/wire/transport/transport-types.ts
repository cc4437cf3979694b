import type { Registry } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { ProxyConfig } from "../config/client-config.js";
import type { TlsSource } from "./tls-source.js";

/** A Connect transport that must be closed. */
export interface ClosableTransport extends Transport {
  /** Closes all connections; calls in flight fail. */
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
}
