import { type ClientConfig, readConfig } from "../config/schema.js";
import { requireObject } from "../errors/check-values.js";
import type { ClosableTransport } from "./closable.js";
import { createTransport, type TransportOptions } from "./transport.js";

/** What every transport takes, beside where its server is. Keys that are left out have the configuration's defaults. */
interface SharedOptions extends TransportOptions {
  /** How long things may take, in milliseconds: `connectMs`, `callMs`, `idleMs`. */
  readonly timeouts?: ClientConfig["timeouts"];
  /** The largest sizes that are read, in bytes, and `callsPerSecond`. */
  readonly limits?: ClientConfig["limits"];
  /** How often a call that only reads is tried, and the waits; without it once, so that `fallback` may go on at once. */
  readonly retry?: ClientConfig["retry"];
}

/** How an API is called over HTTP and JSON. */
export type RestTransportOptions = NonNullable<ClientConfig["rest"]> & SharedOptions;

/** How an API is called over gRPC. */
export type GrpcTransportOptions = Omit<NonNullable<ClientConfig["grpc"]>, "addresses"> & SharedOptions;

/** How an API is called over gRPC, on a channel of `@grpc/grpc-js`. */
export type GrpcJsTransportOptions = Omit<NonNullable<ClientConfig["grpc"]>, "codec"> & SharedOptions;

/**
 * Make a Connect transport that calls any service whose methods carry `google.api.http` rules over HTTP/1.1 and JSON, as
 * grpc-gateway, Envoy and Google's own front ends transcode it.
 *
 * @param options `url` is where the API answers; `streams` is the form of its streams, `jsonAsText` takes plain text for
 *   JSON, `headers` are those of every request, `registry` holds the types that an `Any` may hold
 * @returns the transport; its failures are Connect errors whose cause is one of this library's
 * @throws `RequestError` where an option is wrong
 * @throws `FileError` where a file of `tls` cannot be read
 *
 * @example
 * import { createClient } from "@connectrpc/connect";
 *
 * const transport = createRestTransport({ url: "https://library.example", streams: "array" });
 * const { title } = await createClient(LibraryService, transport).getBook({ name: "shelves/1/books/2" });
 */
export function createRestTransport(options: RestTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: rest } = apart(options);
  return createTransport(readConfig({ ...shared, transport: "rest", rest }), observed);
}

/**
 * Make a Connect transport over gRPC, on HTTP/2, with windows for large messages and pings while calls are under way.
 *
 * @param options `url` is where the API answers; `codec` is `proto` or `json`, `headers` are those of every request
 * @returns the transport; its failures are Connect errors whose cause is one of this library's
 * @throws `RequestError` where an option is wrong
 * @throws `FileError` where a file of `tls` cannot be read
 *
 * @example
 * const transport = createGrpcTransport({ url: "http://127.0.0.1:3007", timeouts: { callMs: 5000 } });
 */
export function createGrpcTransport(options: GrpcTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: grpc } = apart(options);
  return createTransport(readConfig({ ...shared, transport: "grpc", grpc }), observed);
}

/**
 * Make a Connect transport over a channel of `@grpc/grpc-js`: gRPC with that library's name resolution, proxies and
 * balancing.
 *
 * @param options `url` is where the API answers, or `addresses` take the place of its host in turn
 * @returns the transport; its failures are Connect errors whose cause is one of this library's
 * @throws `RequestError` where an option is wrong
 * @throws `FileError` where a file of `tls` cannot be read
 *
 * @example
 * const transport = createGrpcJsTransport({ url: "http://node.example:3007", addresses: ["10.0.0.1:3007"] });
 */
export function createGrpcJsTransport(options: GrpcJsTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: grpc } = apart(options);
  return createTransport(readConfig({ ...shared, transport: "grpc-js", grpc }), observed);
}

/** Take the options of a transport apart: what all share, who looks on, and its endpoint. */
function apart<T extends SharedOptions>(options: T) {
  requireObject("options", options);
  const { timeouts, limits, retry, interceptors, hooks, registry, ...endpoint } = options;
  return {
    shared: { timeouts, limits, retry: { tries: 1, ...retry } },
    observed: { interceptors, hooks, registry },
    endpoint,
  };
}
