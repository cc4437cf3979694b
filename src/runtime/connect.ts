import type { Socket } from "node:net";
import { type ConnectionOptions, current } from "./runtime.js";

/**
 * Begins to open a connection, which all transports but `grpc-js` do here.
 *
 * @param options where it leads, and whether it uses TLS
 * @returns the socket, as Node's `net.connect` and `tls.connect` return it
 */
export function connect(options: ConnectionOptions): Socket {
  return current.connect(options);
}
