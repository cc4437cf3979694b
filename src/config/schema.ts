import * as z from "zod";
import { RequestError } from "../errors/index.js";
import { profiles } from "../schema/profile.js";
import type { Config } from "./config.js";
import { grpc, rest } from "./endpoints.js";
import { type ConfigPlaces, issueTexts, onePlace } from "./issues.js";
import { schemaKeys } from "./keys.js";
import { exposedHost } from "./loopback.js";
import { bytes, chainId, group, milliseconds, oneOf, wholeNumber } from "./values.js";

export type {
  ClientConfig,
  Config,
  FallbackConfig,
  GrpcConfig,
  Limits,
  RestConfig,
  RetryConfig,
  TimeoutConfig,
  TlsConfig,
  TransportName,
} from "./config.js";

/** The largest `limits.maxJsonBytes`: about the longest text that V8 has. */
export const MAX_JSON_BYTES = 2 ** 29;
const MIB = 1024 * 1024;

const timeouts = group({
  connectMs: milliseconds.default(10_000),
  callMs: milliseconds.default(60_000),
  idleMs: milliseconds.optional(),
});

const retry = group({
  tries: wholeNumber(1, 100).default(3),
  baseMs: milliseconds.default(100),
  maxMs: milliseconds.default(10_000),
});

const fallback = group({
  pauseMs: milliseconds.default(30_000),
  maxPauseMs: milliseconds.default(300_000),
});

const limits = group({
  maxMessageBytes: bytes(1, 2 ** 31 - 1).default(64 * MIB),
  maxJsonBytes: bytes(1, MAX_JSON_BYTES).default(64 * MIB),
  maxArchiveBytes: bytes(1, 2 ** 32 - 1).default(512 * MIB),
  callsPerSecond: wholeNumber(1, 1_000_000).optional(),
});

/**
 * The schema of a configuration: what can be configured. What the keys mean stands at the types, in config.ts.
 *
 * @internal
 */
export const configSchema = z
  .strictObject(
    {
      transport: oneOf("auto", "grpc", "grpc-js", "rest").optional(),
      chainId: chainId.optional(),
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

/**
 * What fits the schema, before and after the defaults are filled in.
 *
 * @internal
 */
export type SchemaInput = z.input<typeof configSchema>;
/** @internal */
export type SchemaOutput = z.output<typeof configSchema>;

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
 * @internal
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

function chooseTransport({ transport, grpc, rest, ...shared }: SchemaOutput): Config {
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
