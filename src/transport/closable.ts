import type { Transport } from "@connectrpc/connect";

/** A Connect transport that holds connections. */
export interface ClosableTransport extends Transport {
  /** Close all connections; calls under way fail. */
  close(): Promise<void>;
}
