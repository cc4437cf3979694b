import * as z from "zod";
import { RequestError } from "../errors/index.js";
import { profiles } from "../schema/profile.js";
import { grpc, rest, type tls } from "./endpoints.js";
import { type ConfigPlaces, issueTexts, onePlace } from "./issues.js";
import { schemaKeys } from "./keys.js";
import { exposedHost } from "./loopback.js";
import { bytes, chainId, group, milliseconds, oneOf, wholeNumber } from "./values.js";

const MIB = 1024 * 1024;

const timeouts = group({
  /** The longest time until a connection is usable, in milliseconds. */
  connectMs: milliseconds.default(10_000),
  /** The longest time of a whole call that does not stream, in milliseconds. */
  callMs: milliseconds.default(60_000),
  /**
   * The longest time in which nothing of a stream comes, in milliseconds. By default 60 000 for downloads, such as
   * exports, and none for streams that observe: silence is no fault of theirs.
   */
  idleMs: milliseconds.optional(),
});

const retry = group({
  /** The most tries of a call that only reads; 1 for no retries. */
  tries: wholeNumber(1, 100).default(3),
  /** The longest wait before the first retry, in milliseconds; it doubles with each. A wait is a random part of it. */
  baseMs: milliseconds.default(100),
  /** The longest wait before any retry, in milliseconds. */
  maxMs: milliseconds.default(10_000),
});

const fallback = group({
  /** The pause of a transport that could not connect, in milliseconds; it doubles with each failure. */
  pauseMs: milliseconds.default(30_000),
  /** The longest pause, in milliseconds. */
  maxPauseMs: milliseconds.default(300_000),
});

const limits = group({
  /** The largest gRPC message that is read, in bytes. */
  maxMessageBytes: bytes(1, 2 ** 31 - 1).default(64 * MIB),
  /** The largest JSON object that is read, a chunk of a stream or a whole body, in bytes. */
  maxJsonBytes: bytes(1, 2 ** 29).default(64 * MIB),
  /** The largest archive that `toZip()` takes into memory, in bytes. */
  maxArchiveBytes: bytes(1, 2 ** 32 - 1).default(512 * MIB),
  /** The most calls that are sent in a second, for those who share an address. The node's own limit is kept anyway. */
  callsPerSecond: wholeNumber(1, 1_000_000).optional(),
});

/** The transports that a configuration can choose. */
const transportNames = ["grpc", "grpc-js", "rest"] as const;
/** The name of a transport. */
export type TransportName = (typeof transportNames)[number];

/** The schema of a configuration: the one place that says what can be configured. */
export const configSchema = z
  .strictObject(
    {
      /**
       * How the node is reached: `grpc` is gRPC on Node's HTTP/2, `grpc-js` a channel of `@grpc/grpc-js`, `rest` the HTTP
       * gateway; `auto` takes gRPC, and REST where that cannot be reached. By default `auto` where both URLs are given,
       * else the one whose URL is.
       */
      transport: oneOf("auto", ...transportNames).optional(),
      /** The chain to sign for. Without it, transactions are signed for the chain of a node on loopback only. */
      chainId: chainId.optional(),
      /**
       * Whether the node behaves as the `specification` says, or as `deployed` nodes do where they differ: `deployed`
       * takes exports without extensions, submits input data without the chain's identifier before it, and pads numbers in
       * names of archives that the client makes itself.
       */
      profile: oneOf(...profiles).default("specification"),
      grpc: grpc.optional(),
      rest: rest.optional(),
      timeouts: timeouts.prefault({}),
      retry: retry.prefault({}),
      fallback: fallback.prefault({}),
      limits: limits.prefault({}),
    },
    "must be an object",
  )
  .superRefine((config, context) => {
    /** Refuse the value at a path because of the values of other keys. */
    const refuse = (path: string[], message: string, ...because: string[]) =>
      context.addIssue({ code: "custom", path, message, params: { because } });
    const { transport } = config;
    if (config.grpc === undefined && (transport === "auto" || transport === "grpc" || transport === "grpc-js")) {
      refuse(["grpc", "url"], `must be given for the transport ${transport}`, "transport");
    }
    if (config.rest === undefined && (transport === "auto" || transport === "rest")) {
      refuse(["rest", "url"], `must be given for the transport ${transport}`, "transport");
    }
    if (config.grpc === undefined && config.rest === undefined && transport === undefined) {
      refuse([], "must hold grpc.url, rest.url or both");
    }
    if (transport === "grpc-js" && config.grpc?.codec === "json") {
      refuse(["grpc", "codec"], "must be proto for the transport grpc-js; json is possible with grpc", "transport");
    }
    if (transport !== "grpc-js" && config.grpc?.addresses !== undefined) {
      refuse(["grpc", "addresses"], "is possible for the transport grpc-js only", "transport");
    }
    if (transport === "grpc-js" && config.grpc !== undefined && new URL(config.grpc.url).pathname !== "/") {
      refuse(["grpc", "url"], "must have no path for the transport grpc-js", "transport");
    }
    for (const name of ["grpc", "rest"] as const) {
      const endpoint = config[name];
      const { certFile, keyFile } = endpoint?.tls ?? {};
      if ((certFile === undefined) !== (keyFile === undefined)) {
        refuse([name, "tls"], "must have certFile and keyFile both, or neither");
      }
      if (endpoint === undefined || new URL(endpoint.url).protocol !== "http:") {
        continue;
      }
      if (endpoint.tls !== undefined) {
        refuse([name, "tls"], `goes with an https URL only, but ${name}.url is plain http`, `${name}.url`);
      }
      const exposed = exposedHost(endpoint);
      if (exposed !== undefined && Object.keys(endpoint.headers ?? {}).length > 0 && !endpoint.allowInsecureHeaders) {
        const message = `would go over plain HTTP to ${exposed}; use https, or set ${name}.allowInsecureHeaders`;
        refuse([name, "headers"], message, `${name}.url`, `${name}.addresses`);
      }
    }
  });

/** Everything that can be configured, with the environment variables' names. */
export const configKeys = schemaKeys(configSchema);

/** All keys of a client's configuration. */
type GivenConfig = z.input<typeof configSchema>;
/** A client's configuration, with a URL at least; keys that are left out have their defaults. */
export type ClientConfig = Omit<GivenConfig, "grpc" | "rest"> &
  (
    | { readonly grpc: NonNullable<GivenConfig["grpc"]>; readonly rest?: GivenConfig["rest"] }
    | { readonly grpc?: GivenConfig["grpc"]; readonly rest: NonNullable<GivenConfig["rest"]> }
  );
/** A configuration with every default filled in, and the transport chosen. */
export type Config = Pick<
  z.output<typeof configSchema>,
  "chainId" | "profile" | "timeouts" | "retry" | "fallback" | "limits"
> &
  (
    | { readonly transport: "auto"; readonly grpc: GrpcConfig; readonly rest: RestConfig }
    | { readonly transport: "grpc" | "grpc-js"; readonly grpc: GrpcConfig; readonly rest?: RestConfig | undefined }
    | { readonly transport: "rest"; readonly rest: RestConfig; readonly grpc?: GrpcConfig | undefined }
  );
/** How gRPC is spoken. */
export type GrpcConfig = z.output<typeof grpc>;
/** How the HTTP gateway is called. */
export type RestConfig = z.output<typeof rest>;
/** How a server and a client prove who they are. */
export type TlsConfig = z.output<typeof tls>;
/** How long things may take. */
export type TimeoutConfig = z.output<typeof timeouts>;
/** How calls are tried again. */
export type RetryConfig = z.output<typeof retry>;
/** How long a transport that could not connect is not tried. */
export type FallbackConfig = z.output<typeof fallback>;
/** The largest sizes that are read. */
export type Limits = z.output<typeof limits>;

/**
 * Check a configuration and fill in the defaults.
 *
 * @param config the configuration, as {@link ClientConfig} describes it
 * @returns the configuration with every default filled in, and the transport chosen
 * @throws {@link RequestError} naming each key that is wrong, what was found and what is possible
 *
 * @example
 * const config = readConfig({ rest: { url: "http://127.0.0.1:3008" } });
 */
export function readConfig(config: unknown): Config {
  return readConfigFrom(config, onePlace);
}

/**
 * Like {@link readConfig}, for a configuration that comes from several sources.
 *
 * @param config the configuration
 * @param places says for each key where its value comes from
 * @returns the configuration with every default filled in
 * @throws {@link RequestError} as `readConfig` does, with the source of each wrong value
 */
export function readConfigFrom(config: unknown, places: ConfigPlaces): Config {
  const result = configSchema.safeParse(config);
  if (result.success) {
    return chooseTransport(result.data);
  }
  const wrong = issueTexts(result.error.issues, config, configKeys, places);
  throw new RequestError(`the configuration is wrong: ${wrong.join("; ")}`, {
    section: "requesterror-configuration",
    advice: "Correct what is named; docs/configuration.md lists what is possible.",
  });
}

function chooseTransport({ transport, grpc, rest, ...shared }: z.output<typeof configSchema>): Config {
  if (grpc !== undefined && rest !== undefined && (transport ?? "auto") === "auto") {
    return { ...shared, transport: "auto", grpc, rest };
  }
  if (rest !== undefined && (transport === "rest" || grpc === undefined)) {
    return { ...shared, transport: "rest", rest, grpc };
  }
  if (grpc !== undefined) {
    return { ...shared, transport: transport === "grpc-js" ? transport : "grpc", grpc, rest };
  }
  throw new Error("the schema lets no configuration pass without a URL");
}
