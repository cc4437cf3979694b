import type { Transport } from "@connectrpc/connect";
import type { Profile } from "../../base/profile.js";

/** A text in PEM, or a function that returns one. The function is called for each new connection. */
export type PemSource = string | (() => string | Promise<string>);

/** The TLS options of an endpoint. Files are read again when they have changed; new connections use the new content. */
export interface TlsConfig {
  /** The certificate authorities to trust, in PEM, instead of `caFile`. */
  readonly ca?: PemSource | undefined;
  /** The client's certificate, in PEM, instead of `certFile`. */
  readonly cert?: PemSource | undefined;
  /** The client certificate's private key, in PEM, instead of `keyFile`. */
  readonly key?: PemSource | undefined;
  /** Path of a PEM file with the certificate authorities to trust, instead of the system's. */
  readonly caFile?: string | undefined;
  /** Path of a PEM file with the client's certificate. */
  readonly certFile?: string | undefined;
  /** Path of a PEM file with the client certificate's private key. */
  readonly keyFile?: string | undefined;
  /** The name that the server's certificate must have, if it is not the URL's host. */
  readonly serverName?: string | undefined;
}

/** A call that is about to be sent: the argument of a {@link HeaderFunction}. */
export interface HeadersCall {
  /** The full name of the method, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
  readonly method: string;
  /** Aborted when the call is aborted or times out. The call then ends without waiting for the function. */
  readonly signal: AbortSignal;
}

/**
 * Returns the headers of a call, such as a token that is refreshed when it has expired. It is called for each attempt. If it
 * fails, or returns invalid headers, the call fails with a `RequestError` and nothing is sent.
 *
 * @param call the call
 * @returns the headers by name
 *
 * @example
 * const headers: HeaderFunction = async ({ signal }) => ({ authorization: `Bearer ${await tokens.current(signal)}` });
 */
export type HeaderFunction = (
  call: HeadersCall,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;

interface EndpointConfig {
  readonly tls?: TlsConfig | undefined;
  /**
   * Additional headers of every request, such as a token, or a function that returns them for each attempt of a call. Over
   * plain HTTP, only loopback hosts may receive them.
   */
  readonly headers?: Readonly<Record<string, string>> | HeaderFunction | undefined;
  /** Whether other hosts may receive `headers` over plain HTTP, too. */
  readonly allowInsecureHeaders: boolean;
}

/** The options of the gRPC endpoint. */
export interface GrpcConfig extends EndpointConfig {
  /** The URL of the node's gRPC server, such as `http://127.0.0.1:3007`; `https` for TLS. */
  readonly url: string;
  /** The encoding of messages: `proto` is Protobuf's binary form; `json` is its JSON, a third larger for archives. */
  readonly codec: "proto" | "json";
  /**
   * The compression of requests: `none` or `gzip`. Responses may be compressed with gzip in any case. Some servers, such as
   * those of grpc-go, compress responses only if the request is compressed.
   */
  readonly compression: "none" | "gzip";
  /** Flow-control windows of HTTP/2, of each stream and of the connection, in bytes. */
  readonly windowBytes: number;
  /**
   * A connection that has active calls and receives nothing is pinged after this time, in milliseconds. It is closed if the
   * ping is not answered within the same time, or within 15 seconds. The default is slightly more than the five minutes
   * that gRPC servers require: they close idle connections that are pinged more often.
   */
  readonly keepaliveMs: number;
  /** Addresses such as `10.0.0.1:3007`, used in turn instead of the URL's host; only for `grpc-js`. */
  readonly addresses?: readonly string[] | undefined;
}

/** The options of the HTTP gateway. */
export interface RestConfig extends EndpointConfig {
  /** The URL of the HTTP gateway, such as `http://127.0.0.1:3008`. Its path precedes the path of every method. */
  readonly url: string;
  /**
   * The form of streamed responses: `envelopes` are objects `{"result": ...}` or `{"error": ...}`, `messages` are the
   * messages themselves, concatenated, and `array` is one JSON array of them.
   */
  readonly streams: "envelopes" | "messages" | "array";
  /**
   * Whether responses with the content type `text/plain` are parsed as JSON, for gateways that send JSON with this
   * type.
   */
  readonly jsonAsText: boolean;
}

/** The proxy for requests, by the scheme of the node's URL. */
export interface ProxyRules {
  /** The proxy for `https:` URLs. */
  readonly https?: string | undefined;
  /** The proxy for `http:` URLs. */
  readonly http?: string | undefined;
  /** The hosts that are reached without a proxy, each in a form that `NO_PROXY` has. */
  readonly noProxy?: readonly string[] | undefined;
}

/** The URL of the proxy for all nodes, `false` for none, or rules. */
export type ProxyConfig = string | false | ProxyRules;

export interface TimeoutConfig {
  /** The timeout for opening a connection, in milliseconds. */
  readonly connectMs: number;
  /** The timeout of a unary call with all its retries, in milliseconds. */
  readonly callMs: number;
  /**
   * The maximum idle time of a stream that is being read, in milliseconds. Every byte counts; with `grpc-js`, every message. By
   * default 60,000 for downloads, such as exports, and none for streams of events, which may be silent.
   */
  readonly idleMs?: number | undefined;
}

/** The defaults of the retry budget. */
export const DEFAULT_MAX_TOKENS = 100;
export const DEFAULT_TOKEN_RATIO = 0.1;

/** The retries of calls that may be repeated, and of calls that were not sent. */
export interface RetryConfig {
  /** The maximum number of attempts of a call; 1 for no retries. */
  readonly tries: number;
  /** The maximum delay before the first retry, in milliseconds. It doubles with each retry; the delay is a random part. */
  readonly baseMs: number;
  /** The maximum delay before any retry, in milliseconds. */
  readonly maxMs: number;
  /**
   * Full names of additional methods that may be repeated, such as `library.v1.LibraryService/Search`: reads whose
   * definitions do not say so. Methods that submit transactions are refused.
   */
  readonly methods?: readonly string[] | undefined;
  /**
   * The tokens of the retry budget, which all calls of a client share. A failure takes one, and calls are retried while
   * more than half of them are left.
   */
  readonly maxTokens: number;
  /** The part of a token that a successful call returns. */
  readonly tokenRatio: number;
}

/** How calls are shared among transports and nodes. */
export interface FallbackConfig {
  /** Whether reads go to the `first` node that can be used, or to all of them in turn: `round-robin`. */
  readonly strategy: "first" | "round-robin";
  /**
   * The maximum number of blocks that a node may lag the others. A client with several nodes skips those that lag more,
   * and those whose data node is more than ten seconds behind their core.
   */
  readonly maxLagBlocks: number;
  /** The cooldown after the first failure, in milliseconds; it doubles with each failure. */
  readonly pauseMs: number;
  /** The maximum cooldown, in milliseconds. */
  readonly maxPauseMs: number;
}

interface Limits {
  /** The maximum size of a gRPC message, in bytes. */
  readonly maxMessageBytes: number;
  /** The maximum size of a JSON value, which is a message of a stream or a complete body, in bytes. */
  readonly maxJsonBytes: number;
  /** The maximum size of an archive that `toZip()` loads into memory, in bytes. */
  readonly maxArchiveBytes: number;
  /** The maximum number of calls per second, for clients that share an address. The node's limit is respected anyway. */
  readonly callsPerSecond?: number | undefined;
}

export type TransportName = "grpc" | "grpc-js" | "rest";

/** Any Connect transport, such as Connect's own. One that holds connections may have a `close` function. */
export type AnyTransport = Transport & { close?(): Promise<void> };

/** A transport, and its name in hooks and errors. */
export interface NamedTransport {
  readonly name: string;
  readonly transport: AnyTransport;
}

/** A transport of the library by its name, or any other, such as one that `fallback` returns. */
type TransportSource = TransportName | CustomTransport;

/**
 * How to reach the nodes: `grpc` is gRPC on Node's HTTP/2, `grpc-js` is a channel of `@grpc/grpc-js`, and `rest` is the
 * HTTP gateway. A list has the preferred one first. `auto` is gRPC, and REST as the fallback if gRPC is unreachable.
 */
export type TransportChoice = "auto" | TransportSource | readonly TransportSource[];

type OfNodes<Endpoint> = Omit<Endpoint, "url"> & {
  /** The URL, or the URLs of several nodes of the same network, the preferred one first. */
  readonly url: string | readonly string[];
};

interface SharedConfig {
  /** The chain to sign for. Without it, transactions are signed only for the chain of a node on loopback. */
  readonly chainId?: string | undefined;
  /**
   * Whether the node follows the `specification`, or behaves like `deployed` nodes where they differ from it: `deployed`
   * accepts exports without extensions, submits input data without the chain's identifier in front, and pads the numbers in
   * the archive names that the client generates.
   */
  readonly profile: Profile;
  /**
   * The URL of the proxy through which nodes are reached, with user name and password if required; `false` for none;
   * or rules with the meaning of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, which `loadConfig` creates from these
   * variables. By default none: a client reads no environment variables. Nodes on loopback are always reached directly.
   */
  readonly proxy?: ProxyConfig | undefined;
  readonly timeouts: TimeoutConfig;
  readonly retry: RetryConfig;
  readonly fallback: FallbackConfig;
  readonly limits: Limits;
}

/** At least one endpoint, or a custom transport. */
type WithEndpoint<Grpc, Rest> =
  | { readonly grpc: Grpc; readonly rest?: Rest | undefined }
  | { readonly grpc?: Grpc | undefined; readonly rest: Rest }
  | {
      readonly transport: CustomTransport | readonly CustomTransport[];
      readonly grpc?: undefined;
      readonly rest?: undefined;
    };

type CustomTransport = AnyTransport | NamedTransport;

/** A configuration with all defaults and the chosen transport. It has the URLs that its transports need. */
export type Config = SharedConfig & { readonly transport: TransportChoice } & WithEndpoint<
    OfNodes<GrpcConfig>,
    OfNodes<RestConfig>
  >;

/** A part of a configuration whose keys are optional and have defaults. */
export type Input<Part> = { readonly [Key in keyof Part]?: Part[Key] | undefined };
type EndpointInput<Endpoint extends { readonly url: string }> = Pick<OfNodes<Endpoint>, "url"> &
  Input<Omit<Endpoint, "url">>;

interface SharedInput extends Input<Pick<SharedConfig, "chainId" | "profile" | "proxy">> {
  /** The default is `auto` if there are URLs for both, and otherwise the transport that has URLs. */
  readonly transport?: TransportChoice | undefined;
  readonly timeouts?: Input<TimeoutConfig> | undefined;
  readonly retry?: Input<RetryConfig> | undefined;
  readonly fallback?: Input<FallbackConfig> | undefined;
  readonly limits?: Input<Limits> | undefined;
}

/** The configuration of a client, with a URL or a custom transport. All other keys are optional and have defaults. */
export type ClientConfig = SharedInput & WithEndpoint<EndpointInput<GrpcConfig>, EndpointInput<RestConfig>>;

export function urlsOf(endpoint: Pick<OfNodes<RestConfig>, "url"> | undefined): readonly string[] {
  return endpoint === undefined ? [] : [endpoint.url].flat();
}

export function nodesOf<E extends { readonly url: string | readonly string[] }>(
  endpoint: E | undefined,
): (Omit<E, "url"> & { readonly url: string })[] {
  return endpoint === undefined ? [] : urlsOf(endpoint).map((url) => ({ ...endpoint, url }));
}

export function endpointOf(name: TransportName): "grpc" | "rest" {
  return name === "rest" ? "rest" : "grpc";
}

export function firstUrl(config: Pick<Config, "transport" | "grpc" | "rest">): string | undefined {
  const [first] = transportsOf(config.transport);
  return typeof first === "string" ? urlsOf(config[endpointOf(first)])[0] : undefined;
}

export function transportsOf(transport: TransportChoice): readonly (TransportName | NamedTransport)[] {
  const all: readonly (TransportSource | "auto")[] = Array.isArray(transport) ? transport : [transport];
  return all.flatMap((each, at): (TransportName | NamedTransport)[] => {
    if (each === "auto") {
      return ["grpc", "rest"];
    }
    return [typeof each === "string" || "transport" in each ? each : { name: `transport ${at + 1}`, transport: each }];
  });
}
