import type { Registry } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { TlsMaterial } from "./tls.js";

/** A Connect transport that holds connections. */
export interface ClosableTransport extends Transport {
  /** Close all connections; calls under way fail. */
  close(): Promise<void>;
}

/** Any Connect transport, such as Connect's own; one that holds connections may be closed. */
export type AnyTransport = Transport & Partial<ClosableTransport>;

/** The settings that every transport is made with, beside where its node is. */
export interface TransportSettings {
  /** The longest time to connect, in milliseconds. */
  readonly connectMs: number;
  /** The types that an `Any` in JSON may hold; by default those of error details. */
  readonly registry?: Registry | undefined;
  /** The contents of the files of the configuration's `tls`; by default they are read. */
  readonly tls?: TlsMaterial | undefined;
}
