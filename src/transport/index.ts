import type { Interceptor } from "@connectrpc/connect";
import type { Config } from "../config.js";
import type { ClosableTransport } from "./closable.js";
import { createGrpcTransport } from "./grpc.js";
import { createRestTransport } from "./rest.js";

export type { ClosableTransport } from "./closable.js";

/** Make the transport that a configuration chooses. */
export function createTransport(config: Config, interceptors: readonly Interceptor[] = []): ClosableTransport {
  const options = { ...config.limits, interceptors };
  return config.transport === "grpc"
    ? createGrpcTransport(config.grpc, options)
    : createRestTransport(config.rest, options);
}
