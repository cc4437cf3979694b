import { createRegistry, type DescMethod, type Registry } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import type { Config, TransportName } from "../config/schema.js";
import { requireList } from "../errors/check-kinds.js";
import { requireKnown, wrong } from "../errors/check-values.js";
import type { FailingCall } from "../errors/failing.js";
import { RequestError, TradewireError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
import { ownController } from "../signal/follow.js";
import type { ClosableTransport } from "./closable.js";
import { HOOKS, type Hooks } from "./hooks.js";
import { callersError, failingWithRequests, marking } from "./layers/callers-errors.js";
import { closing } from "./layers/closing.js";
import { callError } from "./layers/failure.js";
import { type FallbackMember, fallback } from "./layers/fallback.js";
import { idleLimited } from "./layers/idle.js";
import { loadedAtCall } from "./layers/loaded-at-call.js";
import { observing } from "./layers/observing.js";
import { type Endpoint, withOurErrors } from "./layers/our-errors.js";
import { createPace, type Pace } from "./layers/pace.js";
import { paced } from "./layers/paced.js";
import { retryInterceptor } from "./layers/retry.js";
import { tellingHooks } from "./layers/tell-hooks.js";
import { limited } from "./layers/time-limits.js";
import { methodName } from "./method-name.js";
import { readTls, type TlsMaterial } from "./tls.js";

export type { ClosableTransport } from "./closable.js";

/** The parts around every call, over all transports. */
export interface TransportOptions {
  /** Connect's interceptors; they see a call once, however often it is tried. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  readonly hooks?: Hooks | undefined;
  /** The types that an `Any` in JSON may hold, over REST and with gRPC's JSON codec, beside those of error details. */
  readonly registry?: Registry | undefined;
}

/** The transports: the name of each, the part of the configuration that it reads, and what loads its maker. */
const transports: readonly Registered[] = [
  registered({
    name: "grpc",
    endpoint: "grpc",
    load: async () => (await import("./grpc/grpc.js")).createGrpcTransport,
  }),
  registered({
    name: "grpc-js",
    endpoint: "grpc",
    load: async () => (await import("./grpc-js/grpc-js.js")).createGrpcJsTransport,
  }),
  registered({
    name: "rest",
    endpoint: "rest",
    load: async () => (await import("./rest/rest.js")).createRestTransport,
  }),
];

/** The transports of `auto`, the preferred one first. */
const AUTO: readonly TransportName[] = ["grpc", "rest"];

/** The limits that every transport is made with: sizes in bytes, times in milliseconds. */
type TransportLimits = Config["limits"] &
  Config["timeouts"] & { readonly registry: Registry; readonly tls: TlsMaterial };

interface Registration<E extends "grpc" | "rest"> {
  readonly name: TransportName;
  readonly endpoint: E;
  readonly load: () => Promise<(endpoint: NonNullable<Config[E]>, limits: TransportLimits) => ClosableTransport>;
}

interface Parts {
  readonly config: Config;
  readonly pace: Pace;
  /** The types that an `Any` in JSON may hold. */
  readonly types: Registry;
}

interface Registered {
  readonly name: TransportName;
  open(parts: Parts): FallbackMember & { readonly transport: ClosableTransport };
}

function registered<E extends "grpc" | "rest">({ name, endpoint, load }: Registration<E>): Registered {
  return {
    name,
    open({ config, pace, types }) {
      const settings: Config[E] = config[endpoint];
      if (settings === undefined) {
        throw new RequestError(`${endpoint}.url must be given for the transport ${name}`, {
          section: "requesterror-configuration",
          advice: "Give it; docs/configuration.md lists what is possible.",
        });
      }
      // Nodes count every request at the gateway, but not the streams of gRPC.
      const isCounted = ({ methodKind }: DescMethod) => endpoint === "rest" || methodKind === "unary";
      const limits = { ...config.limits, ...config.timeouts, registry: types, tls: readTls(settings.tls) };
      const transport = loadedAtCall(async () => (await load())(settings, limits));
      const limited = paced(idleLimited(transport, config.timeouts.idleMs), pace, isCounted);
      return { name, transport: withOurErrors(limited, { ...settings, name }) };
    },
  };
}

/**
 * Make the transport that a configuration chooses.
 *
 * From the outside in: closing, hooks, what the caller's requests throw, the time limit, the caller's interceptors, retries, the choice of transport, the
 * pace, the limit of idle time, the transport.
 *
 * @param config a configuration that was read by `readConfig`
 * @param options Connect's interceptors, and hooks that observe calls
 * @returns a Connect transport for any service; its failures are Connect errors whose cause is one of the library's
 * @throws {@link FileError} where a file of the TLS configuration cannot be read
 *
 * @example
 * const transport = createTransport(readConfig({ grpc: { url: "http://127.0.0.1:3007" } }));
 */
export function createTransport(config: Config, options: TransportOptions = {}): ClosableTransport {
  requireKnown("options", options, { interceptors: true, hooks: true, registry: true });
  const { interceptors = [], hooks, registry } = options;
  requireList("interceptors", interceptors, "Give a list of Connect's interceptors.");
  if (hooks !== undefined) {
    requireKnown("hooks", hooks, HOOKS);
  }
  if (config?.timeouts === undefined) {
    throw wrong("the configuration", config, "Give what readConfig() or loadConfig() gives.");
  }
  const { timeouts, retry } = config;
  const observers = observing(hooks ?? {});
  const endpoint = mainEndpoint(config);
  const bounded = limited(chosen(config, observers, registry), {
    url: endpoint.url,
    timeouts,
    interceptors: [...interceptors.map(marking), retryInterceptor(retry, observers)],
    isWatched: interceptors.length > 0 || hooks !== undefined,
  });
  const transport = failingWithRequests(bounded);
  // Without hooks, a call keeps the number that hooks around this transport know it by.
  const told = hooks === undefined ? transport : tellingHooks(transport, endpoint, observers);
  return closing(told, endpoint.name, ownController);
}

/**
 * Make the function that turns the failure of a call over the chosen transport into one of the library's errors.
 *
 * @param config the configuration that the transport was made with
 * @returns makes, for a call, a function that throws its failure; errors of the caller's interceptors and requests,
 *   and of neither Connect nor this library, pass unchanged
 */
export function failingCall(config: Config): FailingCall {
  const { name: transport, url } = mainEndpoint(config);
  return (method, signal) => (reason) => {
    const callers = callersError(reason);
    if (callers !== undefined) {
      throw callers;
    }
    throw reason instanceof ConnectError || reason instanceof TradewireError
      ? callError(reason, { transport, url, method: methodName(method), signal })
      : reason;
  };
}

/** The endpoint that errors and hooks name where `auto` stands for several transports. */
function mainEndpoint(config: Config): Endpoint {
  return { name: config.transport, url: config.transport === "rest" ? config.rest.url : config.grpc.url };
}

function chosen(config: Config, hooks: Hooks, registry: Registry | undefined): ClosableTransport {
  const names = config.transport === "auto" ? AUTO : [config.transport];
  const types = registry === undefined ? knownTypes : createRegistry(knownTypes, registry);
  const pace = createPace(config.limits.callsPerSecond, hooks);
  const members = transports
    .filter(({ name }) => names.includes(name))
    .map(({ open }) => open({ config, pace, types }));
  const [only, ...others] = members;
  return only !== undefined && others.length === 0 ? only.transport : fallback(members, { ...config.fallback, hooks });
}
