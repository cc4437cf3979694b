import { createRegistry, type DescMethod, type Registry } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import type { CallErrorMapper } from "../../base/errors/call-errors.js";
import { addCaller, recordCaller } from "../../base/errors/caller-stack.js";
import { Code } from "../../base/errors/code.js";
import { TradewireError } from "../../base/errors/index.js";
import { assertArray, assertKnownKeys, assertObject, invalidTypeError } from "../../base/input/assert.js";
import { lazily, startLoading } from "../../base/input/lazy.js";
import { snapshot, snapshotData } from "../../base/input/snapshot.js";
import { createLazyController } from "../../base/signal/abort.js";
import {
  type ClientConfig,
  type Config,
  firstUrl,
  type GrpcConfig,
  nodesOf,
  type RestConfig,
  type TransportName,
  transportsOf,
  urlsOf,
} from "../config/client-config.js";
import { readConfig, transportName } from "../config/config-schema.js";
import { knownTypes } from "../json/any.js";
import { type Hooks, isolateHooks, withHooks } from "./hooks.js";
import { type Calls, callsOf, layered, setRegistry, transportOf } from "./layered.js";
import { callerErrorIn, markInterceptorErrors, withRequestErrors } from "./layers/caller-errors.js";
import { closing } from "./layers/closing.js";
import { betweenNodes, type NodeGate, type NodeMember } from "./layers/fallback.js";
import { withHeaderFunction } from "./layers/header-function.js";
import { createPace, type Pace, paced } from "./layers/rate-limit.js";
import { retrying } from "./layers/retry.js";
import { idleLimited, limited } from "./layers/timeouts.js";
import { callError, withOurErrors } from "./library-errors.js";
import { isReadOnly, methodName } from "./method.js";
import { createTlsSource, type TlsSource } from "./tls-source.js";
import type { ClosableTransport, Endpoint } from "./transport-types.js";

export type { ClosableTransport } from "./transport-types.js";

/** The layers around every call, over all transports. */
export interface TransportOptions {
  /** Connect's interceptors. They see a call once, however often it is retried. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  readonly hooks?: Hooks | undefined;
  /**
   * Additional types that an `Any` may hold, and details of errors. Those of the network's error details are known. JSON needs
   * them: REST, gRPC's JSON codec, and `JSON.stringify`.
   */
  readonly registry?: Registry | undefined;
}

/** The limits of a transport: sizes in bytes, times in milliseconds. */
type TransportLimits = Config["limits"] &
  Config["timeouts"] &
  Pick<Config, "proxy"> & { readonly registry: Registry; readonly tls: TlsSource };

interface OpenOptions {
  readonly config: Config;
  /** Returns the pace of calls to a host. */
  readonly paceOf: (host: string) => Pace;
  /** The types that an `Any` in JSON may hold. */
  readonly types: Registry;
}

export interface OpenNode extends NodeMember {
  readonly transport: ClosableTransport;
  /** The URL; that of a custom transport is unknown. */
  readonly url?: string;
}

/** Opens a transport to each of its nodes. */
type OpenTransport = (options: OpenOptions, name: TransportName) => OpenNode[];

// Bundlers leave out the transports that a program does not use: each is loaded by one function only.
const loadGrpc = /* @__PURE__ */ lazily(async () => (await import("./grpc/grpc-transport.js")).createRawGrpcTransport);
const loadGrpcJs = /* @__PURE__ */ lazily(
  async () => (await import("./grpc-js/grpc-js-transport.js")).createRawGrpcJsTransport,
);
const loadRest = /* @__PURE__ */ lazily(async () => (await import("./rest/rest-transport.js")).createRawRestTransport);

const openGrpc: OpenTransport = (options) => openEach("grpc", nodesOf(options.config.grpc), loadGrpc, options);
const openGrpcJs: OpenTransport = (options) => openEach("grpc-js", nodesOf(options.config.grpc), loadGrpcJs, options);
const openRest: OpenTransport = (options) => openEach("rest", nodesOf(options.config.rest), loadRest, options);

const openAny: OpenTransport = (options, name) => {
  switch (name) {
    case "grpc":
      return openGrpc(options, name);
    case "grpc-js":
      return openGrpcJs(options, name);
    case "rest":
      return openRest(options, name);
  }
};

function openEach<Node extends GrpcConfig | RestConfig>(
  name: TransportName,
  nodes: readonly Node[],
  load: () => Promise<(node: Node, limits: TransportLimits) => ClosableTransport>,
  { config, paceOf, types }: OpenOptions,
): OpenNode[] {
  // Nodes count every request at the gateway, but not the streams of gRPC.
  const isCounted = ({ methodKind }: DescMethod) => name === "rest" || methodKind === "unary";
  const { proxy } = config;
  const tls = createTlsSource(nodes[0]?.tls);
  const limits = { ...config.limits, ...config.timeouts, proxy, registry: types, tls };
  return nodes.map((settings) => {
    const { headers: given, ...endpoint } = settings;
    const { url } = endpoint;
    const node = new URL(url).hostname;
    const transport = lazyTransport(async () => (await load())(settings, limits));
    const limited = paced(idleLimited(transport, config.timeouts.idleMs), paceOf(node), isCounted);
    const sending =
      typeof given === "function"
        ? withOurErrors(withHeaderFunction(limited, given), { ...endpoint, name, registry: types })
        : withOurErrors(limited, { ...endpoint, name, registry: types, headers: given });
    return { name: nodes.length === 1 ? name : `${name} ${url}`, transport: sending, group: name, node, url };
  });
}

/** Returns a transport whose code is loaded from now on. Calls wait for it. */
function lazyTransport(load: () => Promise<ClosableTransport>): ClosableTransport {
  let current: Calls | undefined;
  let isClosed = false;
  const opened = lazily(async () => {
    current = callsOf(await load());
    if (isClosed) {
      await current.close();
    }
    return current;
  });
  startLoading(opened);

  /** Returns the calls of the transport when it is loaded, unless it was closed. */
  async function opening(): Promise<Calls> {
    const calls = await opened();
    if (isClosed) {
      throw new ConnectError("the transport is closed", Code.Canceled);
    }
    return calls;
  }

  return transportOf({
    unary: (call) =>
      current === undefined || isClosed ? opening().then(({ unary }) => unary(call)) : current.unary(call),
    stream: (call) =>
      current === undefined || isClosed ? opening().then(({ stream }) => stream(call)) : current.stream(call),
    async close() {
      isClosed = true;
      await current?.close();
    },
  });
}

/**
 * Creates the transport that a configuration selects.
 *
 * The layers, from the outside in: closing, hooks, errors of the caller's requests, deadline, the caller's interceptors,
 * retries, fallback between transports, the library's errors, rate limit, idle timeout, the transport.
 *
 * @param config a configuration that was read by `readConfig`
 * @param options Connect's interceptors, and hooks that observe calls
 * @param gateOf decides which of several nodes may be used; by default all
 * @returns a Connect transport for any service; its failures are Connect errors whose cause is one of the library's errors
 * @throws {@link FileError} if a file of the TLS configuration cannot be read
 *
 * @example
 * const transport = createTransport(readConfig({ grpc: { url: "http://127.0.0.1:3007" } }));
 */
export function createTransport(config: Config, options: TransportOptions = {}, gateOf?: GateOf): ClosableTransport {
  return composeTransport(openAny, config, options, gateOf);
}

/**
 * Returns what decides which of several nodes may be used. With `isOneNode`, they are the ways to one node, which is only
 * compared with the chain of the configuration.
 */
export type GateOf = (nodes: readonly OpenNode[], isOneNode: boolean) => NodeGate;

function composeTransport(
  open: OpenTransport,
  config: Config,
  options: TransportOptions,
  gateOf?: GateOf,
): ClosableTransport {
  assertKnownKeys("options", options, { interceptors: true, hooks: true, registry: true });
  const { interceptors = [], hooks, registry } = options;
  assertArray("interceptors", interceptors, "an array of Connect interceptors");
  if (config?.timeouts === undefined) {
    throw invalidTypeError("config", config, "a result of readConfig() or loadConfig()");
  }
  const { timeouts, retry } = config;
  const isolated = isolateHooks(hooks ?? {});
  const endpoint = mainEndpoint(config);
  const types = registry === undefined ? knownTypes : createRegistry(knownTypes, registry);
  const nodes = openNodes(open, config, isolated, types);
  const withDeadline = limited(retrying(overNodes(nodes, config, isolated, gateOf), retry, isolated), {
    url: endpoint.url,
    timeouts,
    interceptors: interceptors.map(markInterceptorErrors),
    isWatched: interceptors.length > 0 || hooks !== undefined,
  });
  const transport = withRequestErrors(withDeadline);
  // Without hooks of its own, a call keeps the id that hooks around this transport have assigned.
  const observed = hooks === undefined ? transport : withHooks(transport, endpoint, isolated);
  return setRegistry(closing(observed, endpoint.name, createLazyController), types);
}

/** Returns a transport that reads its unary requests once, before anything else, because a caller may change them. */
export function readingOnce(transport: ClosableTransport): ClosableTransport {
  return layered(transport, {
    unary: (call, next) => next({ ...call, header: snapshot(call.header), message: snapshotData(call.message) }),
  });
}

/**
 * Returns the function that converts the failure of a call over the configured transport to one of the library's errors.
 */
export function failingCall(config: Config): CallErrorMapper {
  return failingOver(mainEndpoint(config));
}

/** Returns the function that converts the failure of a call over a transport to one of the library's errors. */
export function failingOver({ name: transport, url }: Endpoint): CallErrorMapper {
  return (method, signal) => {
    const caller = recordCaller();
    return (reason) => {
      const callerError = callerErrorIn(reason);
      if (callerError !== undefined) {
        throw callerError;
      }
      throw reason instanceof ConnectError || reason instanceof TradewireError
        ? addCaller(callError(reason, { transport, url, method: methodName(method), signal }), caller)
        : reason;
    };
  };
}

/** Returns the endpoint that errors and hooks name if the configuration has several. */
function mainEndpoint(config: Config): Endpoint {
  const [first, ...others] = transportsOf(config.transport);
  const name = first === undefined || others.length > 0 ? "auto" : transportName(first);
  return { name, url: firstUrl(config) ?? name };
}

function openNodes(open: OpenTransport, config: Config, hooks: Hooks, types: Registry): OpenNode[] {
  const paces = new Map<string, Pace>();
  const paceOf = (host: string) => {
    const pace = paces.get(host) ?? createPace(config.limits.callsPerSecond, hooks);
    paces.set(host, pace);
    return pace;
  };
  return transportsOf(config.transport).flatMap((each): OpenNode[] => {
    if (typeof each === "string") {
      return open({ config, paceOf, types }, each);
    }
    const { name, transport } = each;
    const limited = paced(idleLimited(transport, config.timeouts.idleMs), paceOf(name), () => true);
    return [{ name, transport: withOurErrors(limited, { name, url: name, registry: types }), group: name, node: name }];
  });
}

/** The service whose methods a transaction is made of: they go to one node, which knows the blocks that it named. */
const CORE_SERVICE = "vega.api.v1.CoreService";

function overNodes(
  nodes: readonly OpenNode[],
  config: Config,
  hooks: Hooks,
  gateOf: GateOf | undefined,
): ClosableTransport {
  const [only, ...others] = nodes;
  const rotates = (method: DescMethod) => isReadOnly(method) && method.parent.typeName !== CORE_SERVICE;
  // gRPC and REST with a URL each are two ways to one node.
  const lists = [urlsOf(config.grpc), urlsOf(config.rest), nodes.filter(({ url }) => url === undefined)];
  const isOneNode = lists.every(({ length }) => length <= 1);
  const opened = gateOf?.(nodes, isOneNode);
  const gate = isOneNode && config.chainId === undefined ? undefined : opened;
  if (only !== undefined && others.length === 0 && gate === undefined) {
    return only.transport;
  }
  return betweenNodes(nodes, { ...config.fallback, hooks, rotates, ...(gate && { gate }) });
}

interface SharedOptions extends TransportOptions {
  /** Time limits, in milliseconds: `connectMs`, `callMs`, `idleMs`. */
  readonly timeouts?: ClientConfig["timeouts"];
  /** Maximum sizes, in bytes, and `callsPerSecond`. */
  readonly limits?: ClientConfig["limits"];
  /** How often read-only calls are attempted, and the waits. By default they are not retried, so that `fallback` can act. */
  readonly retry?: ClientConfig["retry"];
  /** The URL of a proxy. By default connections are direct. */
  readonly proxy?: ClientConfig["proxy"];
}

/** Options of {@link createRestTransport}. */
export type RestTransportOptions = NonNullable<ClientConfig["rest"]> & SharedOptions;

/** Options of {@link createGrpcTransport}. */
export type GrpcTransportOptions = Omit<NonNullable<ClientConfig["grpc"]>, "addresses"> & SharedOptions;

/** Options of {@link createGrpcJsTransport}. */
export type GrpcJsTransportOptions = Omit<NonNullable<ClientConfig["grpc"]>, "codec"> & SharedOptions;

/**
 * Creates a Connect transport over HTTP/1.1 and JSON. It calls any service whose methods have `google.api.http` rules, as
 * grpc-gateway, Envoy and Google's own front ends transcode it.
 *
 * @param options `url` is the API's URL; `streams` is the format of its streams; `jsonAsText` accepts plain text as JSON;
 *   `headers` are sent with every request; `registry` holds the types that an `Any` may hold
 * @returns the transport; its failures are Connect errors whose cause is one of this library's errors
 * @throws `RequestError` if an option is wrong
 * @throws `FileError` if a file of `tls` cannot be read
 *
 * @example
 * import { createClient } from "@connectrpc/connect";
 *
 * const transport = createRestTransport({ url: "https://library.example", streams: "array" });
 * const { title } = await createClient(LibraryService, transport).getBook({ name: "shelves/1/books/2" });
 */
export function createRestTransport(options: RestTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: rest } = splitOptions(options);
  return readingOnce(composeTransport(openRest, readConfig({ ...shared, transport: "rest", rest }), observed));
}

/**
 * Creates a Connect transport over gRPC on HTTP/2, with flow-control windows for large messages, and pings while calls are
 * in flight.
 *
 * @param options `url` is the API's URL; `codec` is `proto` or `json`; `headers` are sent with every request
 * @returns the transport; its failures are Connect errors whose cause is one of this library's errors
 * @throws `RequestError` if an option is wrong
 * @throws `FileError` if a file of `tls` cannot be read
 *
 * @example
 * const transport = createGrpcTransport({ url: "http://127.0.0.1:3007", timeouts: { callMs: 5000 } });
 */
export function createGrpcTransport(options: GrpcTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: grpc } = splitOptions(options);
  return readingOnce(composeTransport(openGrpc, readConfig({ ...shared, transport: "grpc", grpc }), observed));
}

/**
 * Creates a Connect transport over a channel of `@grpc/grpc-js`: gRPC with that library's name resolution and load
 * balancing.
 *
 * @param options `url` is the API's URL; `addresses` replace its host, and calls use them in turn
 * @returns the transport; its failures are Connect errors whose cause is one of this library's errors
 * @throws `RequestError` if an option is wrong
 * @throws `FileError` if a file of `tls` cannot be read
 *
 * @example
 * const transport = createGrpcJsTransport({ url: "http://node.example:3007", addresses: ["10.0.0.1:3007"] });
 */
export function createGrpcJsTransport(options: GrpcJsTransportOptions): ClosableTransport {
  const { shared, observed, endpoint: grpc } = splitOptions(options);
  return readingOnce(composeTransport(openGrpcJs, readConfig({ ...shared, transport: "grpc-js", grpc }), observed));
}

/** Splits the options of a transport into those of the configuration, those of the observers, and its endpoint's. */
function splitOptions<T extends SharedOptions>(options: T) {
  options = snapshot(options);
  assertObject("options", options);
  const { timeouts, limits, retry, proxy, interceptors, hooks, registry, ...endpoint } = options;
  return {
    shared: { timeouts, limits, proxy, retry: { tries: 1, ...retry } },
    observed: { interceptors, hooks, registry },
    endpoint,
  };
}
