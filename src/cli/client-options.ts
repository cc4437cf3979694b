import { Option } from "commander";
import { type ConfigSources, type LoadedConfig, readSources } from "../config/load.js";
import { type Config, configSchema, MAX_JSON_BYTES } from "../config/schema.js";
import { RequestError } from "../errors/index.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { profiles } from "../schema/profile.js";
import type { Streams } from "./output.js";
import { wholeNumber } from "./whole-number.js";

/** The values of {@link clientOptions}. Timeouts are in milliseconds. */
export interface ClientOptions {
  readonly config?: string;
  readonly transport?: string;
  readonly chainId?: string;
  readonly profile?: string;
  readonly grpcUrl?: string;
  readonly restUrl?: string;
  readonly caFile?: string;
  readonly connectTimeout?: number;
  readonly callTimeout?: number;
  readonly idleTimeout?: number;
  readonly maxMessageBytes?: number;
  /** Of all commands. */
  readonly verbose?: boolean;
}

/** Where a configuration comes from beside the options: the environment variables. */
type ConfigContext = Pick<Streams, "environment">;

/** How a configuration is loaded. */
export interface ConfigPurpose {
  /** Whether a key signs with it, as in `loadConfig`. */
  readonly forSigning?: boolean;
  /** Its file and environment, if they were read before. */
  readonly sources?: ConfigSources;
}

/**
 * Create the command-line options that choose a node and the way to reach it. None takes a secret, because other users
 * of a machine can read arguments.
 *
 * @returns the options; durations are parsed to milliseconds
 */
export function clientOptions(): Option[] {
  const timeout = (name: string, description: string) =>
    new Option(`--${name}-timeout <duration>`, description).argParser((text) =>
      milliseconds(`--${name}-timeout`, text),
    );
  const options = [
    new Option(
      "--config <file>",
      "configuration file; by default that of TRADEWIRE_CONFIG, or tradewire.config.json if it exists",
    ),
    new Option("--transport <name>", "how to reach the node").choices(configSchema.shape.transport.unwrap().options),
    profileOption(),
    new Option("--grpc-url <url>", "where the node answers gRPC"),
    new Option("--rest-url <url>", "where the HTTP gateway answers"),
    new Option("--ca-file <file>", "PEM file with the certificate authorities to trust, for https URLs"),
    timeout("connect", "longest time until a connection is made, such as 500ms, 30s, 2m; without a unit, seconds"),
    timeout("call", "longest time for a call that does not stream"),
    timeout("idle", "longest time in which nothing comes on a stream"),
    new Option("--max-message-bytes <count>", "the most bytes of a message, over gRPC and REST (64 MiB)").argParser(
      wholeNumber,
    ),
  ];
  return options.map((option) => option.helpGroup("Reaching the node:"));
}

/**
 * Create the option that says how nodes behave.
 *
 * @returns the option; a client's own default is that of its configuration
 */
export function profileOption(): Option {
  return new Option("--profile <name>", "what to expect where deployed nodes differ from the specification").choices(
    profiles,
  );
}

/**
 * Create the option that names the chain, for commands that sign or verify.
 *
 * @returns the option
 */
export function chainIdOption(): Option {
  return new Option("--chain-id <id>", "chain to sign for; a node on another one is refused. Loopback needs none");
}

/**
 * Load the configuration of a client. The command-line options have precedence over the environment and the file.
 *
 * @param options the values of the command-line options
 * @param context the environment variables
 * @param purpose whether a key signs with the configuration, and the sources, if they were read before
 * @returns the configuration
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file cannot be read
 */
export function clientConfig(options: ClientOptions, context: ConfigContext, purpose: ConfigPurpose = {}): Config {
  return loadClientConfig(options, context, purpose).config;
}

/**
 * Load the configuration of a client as {@link clientConfig} does, with the source of each value.
 *
 * @param options the values of the command-line options
 * @param context the environment variables
 * @param purpose whether a key signs with the configuration, and the sources, if they were read before
 * @returns the configuration and the sources
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file cannot be read
 */
export function loadClientConfig(
  options: ClientOptions,
  { environment }: ConfigContext,
  { forSigning = false, sources = readSources({ file: options.config, forSigning, environment }) }: ConfigPurpose = {},
): LoadedConfig {
  // JSON has a maximum of its own.
  const jsonBytes = options.maxMessageBytes && Math.min(options.maxMessageBytes, MAX_JSON_BYTES);
  const given = [
    { name: "--transport", key: "transport", value: options.transport },
    { name: "--chain-id", key: "chainId", value: options.chainId },
    { name: "--profile", key: "profile", value: options.profile },
    { name: "--grpc-url", key: "grpc.url", value: options.grpcUrl },
    { name: "--rest-url", key: "rest.url", value: options.restUrl },
    { name: "--connect-timeout", key: "timeouts.connectMs", value: options.connectTimeout },
    { name: "--call-timeout", key: "timeouts.callMs", value: options.callTimeout },
    { name: "--idle-timeout", key: "timeouts.idleMs", value: options.idleTimeout },
    { name: "--max-message-bytes", key: "limits.maxMessageBytes", value: options.maxMessageBytes },
    { name: "--max-message-bytes", key: "limits.maxJsonBytes", value: jsonBytes },
  ];
  const loaded = sources(given);
  if (options.caFile === undefined) {
    return loaded;
  }
  // If no URL is https, the schema reports it.
  const endpoints = (["grpc", "rest"] as const).filter((name) => loaded.config[name] !== undefined);
  const secure = endpoints.filter((name) => /^https:/i.test(loaded.config[name]?.url ?? ""));
  const keys = (secure.length > 0 ? secure : endpoints).map((name) => `${name}.tls.caFile`);
  const authorities = keys.map((key) => ({ name: "--ca-file", key, value: options.caFile }));
  return sources([...given, ...authorities]);
}

const UNITS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/**
 * Parse a duration of the command line.
 *
 * @param option the option, for errors
 * @param text a number with a unit, such as `500ms`, `30s`, `2m` or `1h`; without a unit, it is in seconds
 * @returns the duration in milliseconds
 * @throws {@link RequestError} if the text is no duration, or one that no timer can wait
 */
export function milliseconds(option: string, text: string): number {
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  if (number === undefined) {
    throw new RequestError(`${option}: ${JSON.stringify(text)} is no duration`, {
      advice: "Give a number with a unit, such as 500ms, 30s, 2m or 1h; without a unit, it is in seconds.",
    });
  }
  const time = Math.round(Number(number) * (UNITS.get(unit) ?? 1));
  if (time < 1 || time > MAX_TIMER_MS) {
    throw new RequestError(`${option} is ${text}, which is no time to wait`, { advice: "Give 1ms to 596h." });
  }
  return time;
}
