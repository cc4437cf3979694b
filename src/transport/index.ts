import type { Interceptor } from "@connectrpc/connect";
import type { Config } from "../config/schema.js";
import type { ClosableTransport } from "./closable.js";
import { createGrpcTransport } from "./grpc/grpc.js";
import { createGrpcJsTransport } from "./grpc-js/grpc-js.js";
import type { Hooks } from "./hooks.js";
import { createFallbackTransport } from "./layers/fallback.js";
import { described, type Endpoint } from "./layers/our-errors.js";
import { retryInterceptor } from "./layers/retry.js";
import { observed } from "./layers/tell-hooks.js";
import { intercepted } from "./layers/time-limits.js";
import { createRestTransport } from "./rest/rest.js";

export type { ClosableTransport } from "./closable.js";

/** What goes around every call, over whichever transport. */
export interface TransportOptions {
  /** Connect's interceptors; they see a call once, however often it is tried. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  readonly hooks?: Hooks | undefined;
}

/**
 * Make the transport that a configuration chooses.
 *
 * From the outside in: hooks, time limits, the caller's interceptors, retries, the choice of transport, the transport.
 *
 * @throws {@link FileError} where a file of the TLS configuration cannot be read
 */
export function createTransport(
  config: Config,
  { interceptors = [], hooks = {} }: TransportOptions = {},
): ClosableTransport {
  const { timeouts, retry } = config;
  const endpoint = mainEndpoint(config);
  const transport = intercepted(chosen(config, hooks), {
    url: endpoint.url,
    timeouts,
    interceptors: [...interceptors, retryInterceptor(retry, hooks)],
  });
  return observed(transport, endpoint, hooks);
}

/** What stands for a whole configuration in errors and hooks that no single transport is behind. */
export function mainEndpoint(config: Config): Endpoint {
  return { name: config.transport, url: config.transport === "rest" ? config.rest.url : config.grpc.url };
}

function chosen(config: Config, hooks: Hooks): ClosableTransport {
  const { limits, timeouts } = config;
  const options = { ...limits, ...timeouts };
  const grpc = (settings: Config["grpc"] & {}) =>
    described(createGrpcTransport(settings, options), { ...settings, name: "grpc" });
  const rest = (settings: Config["rest"] & {}) =>
    described(createRestTransport(settings, options), { ...settings, name: "rest" });
  switch (config.transport) {
    case "grpc":
      return grpc(config.grpc);
    case "grpc-js":
      return described(createGrpcJsTransport(config.grpc, options), { ...config.grpc, name: "grpc-js" });
    case "rest":
      return rest(config.rest);
    case "auto":
      return createFallbackTransport(
        [
          { name: "grpc", transport: grpc(config.grpc) },
          { name: "rest", transport: rest(config.rest) },
        ],
        config.fallback,
        hooks,
      );
  }
}
