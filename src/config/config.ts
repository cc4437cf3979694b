import type { Profile } from "../schema/profile.js";

/** How a server and a client prove who they are. */
export interface TlsConfig {
  /** Path of a PEM file with the certificate authorities to trust, instead of the system's. */
  readonly caFile?: string | undefined;
  /** Path of a PEM file with the client's certificate. */
  readonly certFile?: string | undefined;
  /** Path of a PEM file with the client certificate's private key. */
  readonly keyFile?: string | undefined;
  /** The name that the server's certificate must be for, where it is not the URL's host. */
  readonly serverName?: string | undefined;
}

interface EndpointConfig {
  readonly tls?: TlsConfig | undefined;
  /** Further headers of every request, such as a token. Over plain HTTP they are possible for loopback hosts only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Allows `headers` over plain HTTP to other hosts too. */
  readonly allowInsecureHeaders: boolean;
}

/** How gRPC is spoken. */
export interface GrpcConfig extends EndpointConfig {
  /** Where the node answers gRPC, such as `http://127.0.0.1:3007`; `https` for TLS. */
  readonly url: string;
  /** How messages are written: `proto` is Protobuf's binary form; `json` its JSON, a third larger for archives. */
  readonly codec: "proto" | "json";
  /** Flow-control windows of HTTP/2, of each stream and of the connection, in bytes. */
  readonly windowBytes: number;
  /**
   * A connection with calls under way from which nothing comes is pinged after this time, in milliseconds, and closed
   * where the ping is not answered in the same time, or 15 seconds. The default is a little more than the five minutes
   * that gRPC servers ask for: they close connections that are pinged more often while nothing is to be sent.
   */
  readonly keepaliveMs: number;
  /** Addresses such as `10.0.0.1:3007` to take in turn instead of the URL's host; for `grpc-js` only. */
  readonly addresses?: readonly string[] | undefined;
}

/** How the HTTP gateway is called. */
export interface RestConfig extends EndpointConfig {
  /** Where the HTTP gateway answers, such as `http://127.0.0.1:3008`; a path in it precedes every method's path. */
  readonly url: string;
  /**
   * How methods that stream are answered: `envelopes` are objects `{"result": ...}` or `{"error": ...}`, `messages` the
   * messages themselves, one behind the other, and `array` is one JSON array of them.
   */
  readonly streams: "envelopes" | "messages" | "array";
  /** Whether answers of the content type `text/plain` are read as JSON, for gateways that name it so. */
  readonly jsonAsText: boolean;
}

/** How long things may take. */
export interface TimeoutConfig {
  /** The longest time until a connection is usable, in milliseconds. */
  readonly connectMs: number;
  /** The longest time of a whole call that does not stream, in milliseconds. */
  readonly callMs: number;
  /**
   * The longest time in which nothing of a stream comes, in milliseconds. By default 60 000 for downloads, such as
   * exports, and none for streams that observe: silence is no fault of theirs.
   */
  readonly idleMs?: number | undefined;
}

/** How calls are tried again. */
export interface RetryConfig {
  /** The most tries of a call that only reads; 1 for no retries. */
  readonly tries: number;
  /** The longest wait before the first retry, in milliseconds; it doubles with each. A wait is a random part of it. */
  readonly baseMs: number;
  /** The longest wait before any retry, in milliseconds. */
  readonly maxMs: number;
}

/** How long a transport that could not connect is not tried. */
export interface FallbackConfig {
  /** The pause of a transport that could not connect, in milliseconds; it doubles with each failure. */
  readonly pauseMs: number;
  /** The longest pause, in milliseconds. */
  readonly maxPauseMs: number;
}

/** The largest sizes that are read. */
export interface Limits {
  /** The largest gRPC message that is read, in bytes. */
  readonly maxMessageBytes: number;
  /** The largest JSON object that is read, a chunk of a stream or a whole body, in bytes. */
  readonly maxJsonBytes: number;
  /** The largest archive that `toZip()` takes into memory, in bytes. */
  readonly maxArchiveBytes: number;
  /** The most calls that are sent in a second, for those who share an address. The node's own limit is kept anyway. */
  readonly callsPerSecond?: number | undefined;
}

/** The name of a transport. */
export type TransportName = "grpc" | "grpc-js" | "rest";

interface SharedConfig {
  /** The chain to sign for. Without it, transactions are signed for the chain of a node on loopback only. */
  readonly chainId?: string | undefined;
  /**
   * Whether the node behaves as the `specification` says, or as `deployed` nodes do where they differ: `deployed`
   * takes exports without extensions, submits input data without the chain's identifier before it, and pads numbers in
   * names of archives that the client makes itself.
   */
  readonly profile: Profile;
  readonly timeouts: TimeoutConfig;
  readonly retry: RetryConfig;
  readonly fallback: FallbackConfig;
  readonly limits: Limits;
}

/** A configuration with every default filled in, and the transport chosen. */
export type Config = SharedConfig &
  (
    | { readonly transport: "auto"; readonly grpc: GrpcConfig; readonly rest: RestConfig }
    | { readonly transport: "grpc" | "grpc-js"; readonly grpc: GrpcConfig; readonly rest?: RestConfig | undefined }
    | { readonly transport: "rest"; readonly rest: RestConfig; readonly grpc?: GrpcConfig | undefined }
  );

/** A part of a configuration in which keys may be left out, so that they have their defaults. */
type Given<Part> = { readonly [Key in keyof Part]?: Part[Key] | undefined };
type GivenEndpoint<Endpoint extends { readonly url: string }> = Pick<Endpoint, "url"> & Given<Omit<Endpoint, "url">>;

interface GivenParts extends Given<Pick<SharedConfig, "chainId" | "profile">> {
  /**
   * How the node is reached: `grpc` is gRPC on Node's HTTP/2, `grpc-js` a channel of `@grpc/grpc-js`, `rest` the HTTP
   * gateway; `auto` takes gRPC, and REST where that cannot be reached. By default `auto` where both URLs are given,
   * else the one whose URL is.
   */
  readonly transport?: "auto" | TransportName | undefined;
  readonly timeouts?: Given<TimeoutConfig> | undefined;
  readonly retry?: Given<RetryConfig> | undefined;
  readonly fallback?: Given<FallbackConfig> | undefined;
  readonly limits?: Given<Limits> | undefined;
}

/** A client's configuration, with a URL at least; keys that are left out have their defaults. */
export type ClientConfig = GivenParts &
  (
    | { readonly grpc: GivenEndpoint<GrpcConfig>; readonly rest?: GivenEndpoint<RestConfig> | undefined }
    | { readonly grpc?: GivenEndpoint<GrpcConfig> | undefined; readonly rest: GivenEndpoint<RestConfig> }
  );
