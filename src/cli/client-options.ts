import { closestName } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import type { Config, LoadedConfig } from "../index.js";
import { MAX_JSON_BYTES, transportNames, urlsOf } from "../wire/config/config-schema.js";
import { oneOrAll } from "../wire/config/config-sources.js";
import { type ConfigSources, readSources } from "../wire/config/load-config.js";
import { flagOf, list, type OptionSettings, type OptionValues, parsed, text, textList } from "./declarations.js";
import type { Streams } from "./output.js";
import { parseDuration, parseInteger } from "./parsers.js";
import { profileOption } from "./shared-options.js";

const CONNECTION: OptionSettings = { group: "Connection:" };

/**
 * The options that choose a node and how to reach it. No option accepts a secret, because other users of a machine
 * can read arguments.
 */
export const clientOptions = {
  use: text("<name>", "network of your configuration file (default: TRADEWIRE_USE)", {
    ...CONNECTION,
    completions: async () => ({ values: (await import("../wire/config/config-files.js")).ownNetworks(process.env) }),
  }),
  config: text(
    "<file>",
    "configuration file (default: TRADEWIRE_CONFIG, or your user configuration file and tradewire.config.json if they exist)",
    CONNECTION,
  ),
  transport: list(
    "<name>",
    "how to connect: auto, or grpc, grpc-js and rest in the order of preference",
    parseTransport,
    { ...CONNECTION, completions: () => ({ values: ["auto", ...transportNames] }) },
  ),
  profile: { ...profileOption, ...CONNECTION },
  grpcUrl: textList("<url>", "gRPC URL of the node, or of several nodes of one network", CONNECTION),
  restUrl: textList("<url>", "URL of the HTTP gateway of the node, or of several nodes", CONNECTION),
  caFile: text("<file>", "PEM file of the certificate authorities to trust, for https URLs", CONNECTION),
  connectTimeout: parsed(
    "<duration>",
    "maximum time to connect, such as 500ms, 30s, 2m; the default unit is seconds",
    parseDuration,
    CONNECTION,
  ),
  timeout: parsed("<duration>", "maximum duration of the whole command", parseDuration, CONNECTION),
  callTimeout: parsed("<duration>", "maximum duration of a call that does not stream", parseDuration, CONNECTION),
  idleTimeout: parsed("<duration>", "maximum idle time of a stream", parseDuration, CONNECTION),
  maxMessageBytes: parsed(
    "<count>",
    "maximum message size in bytes, over gRPC and REST (default: 64 MiB)",
    parseInteger,
    CONNECTION,
  ),
};

/** The values of {@link clientOptions}, and of the options that some or all commands have. Timeouts are in milliseconds. */
export interface ClientOptions extends OptionValues<typeof clientOptions> {
  readonly chainId?: string;
  readonly verbose?: boolean;
}

/** The key of the configuration that each option sets. */
const CONFIG_KEYS = [
  ["transport", "transport"],
  ["chainId", "chainId"],
  ["profile", "profile"],
  ["grpcUrl", "grpc.url"],
  ["restUrl", "rest.url"],
  ["connectTimeout", "timeouts.connectMs"],
  ["callTimeout", "timeouts.callMs"],
  ["idleTimeout", "timeouts.idleMs"],
  ["maxMessageBytes", "limits.maxMessageBytes"],
] as const satisfies readonly (readonly [keyof ClientOptions, string])[];

/** Parses the name of a transport. The configuration refuses `auto` with others. */
function parseTransport(name: string): string {
  const known: readonly string[] = ["auto", ...transportNames];
  if (!known.includes(name)) {
    const near = closestName(name, known);
    throw new RequestError(`unknown transport ${JSON.stringify(name)}`, {
      advice: `${near === undefined ? "" : `Did you mean ${near}? `}Use auto, or one or more of ${transportNames.join(", ")}.`,
    });
  }
  return name;
}

const oneOrMore = (value: unknown) => (Array.isArray(value) ? oneOrAll(value.map(String)) : value);

/** The source of a configuration besides the options, the environment variables; and the receiver of the configuration. */
type ConfigContext = Pick<Streams, "environment" | "onConfig">;

/** How a configuration is loaded. */
export interface ConfigPurpose {
  /** Whether a key signs with it, as in `loadConfig`. */
  readonly forSigning?: boolean;
  /** Its file and environment, if they were read before. */
  readonly sources?: ConfigSources;
}

/**
 * Loads the configuration of a client. Command-line options take precedence over the environment, and the environment
 * over files.
 *
 * @throws {@link RequestError} if the configuration is invalid
 * @throws {@link FileError} if the configuration file cannot be read
 */
export function clientConfig(options: ClientOptions, context: ConfigContext, purpose: ConfigPurpose = {}): Config {
  return loadClientConfig(options, context, purpose).config;
}

/**
 * Loads the configuration of a client as {@link clientConfig} does, with the source of each value.
 *
 * @throws {@link RequestError} if the configuration is invalid
 * @throws {@link FileError} if the configuration file cannot be read
 */
export function loadClientConfig(
  options: ClientOptions,
  { environment, onConfig }: ConfigContext,
  {
    forSigning = false,
    sources = readSources({ file: options.config, use: options.use, forSigning, environment }),
  }: ConfigPurpose = {},
): LoadedConfig {
  // The limit of JSON messages has a lower maximum.
  const jsonBytes = options.maxMessageBytes && Math.min(options.maxMessageBytes, MAX_JSON_BYTES);
  const values = [
    ...CONFIG_KEYS.map(([option, key]) => ({ name: flagOf(option), key, value: oneOrMore(options[option]) })),
    { name: flagOf("maxMessageBytes"), key: "limits.maxJsonBytes", value: jsonBytes },
  ];
  const loaded = sources(values);
  if (options.caFile === undefined) {
    onConfig(loaded);
    return loaded;
  }
  // If no URL is https, the schema reports it.
  const endpoints = (["grpc", "rest"] as const).filter((name) => loaded.config[name] !== undefined);
  const secure = endpoints.filter((name) => urlsOf(loaded.config[name]).some((url) => /^https:/i.test(url)));
  const keys = (secure.length > 0 ? secure : endpoints).map((name) => `${name}.tls.caFile`);
  const authorities = keys.map((key) => ({ name: flagOf("caFile"), key, value: options.caFile }));
  const complete = sources([...values, ...authorities]);
  onConfig(complete);
  return complete;
}
