import { closestName } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { profiles } from "../base/profile.js";
import { tableNames } from "../data/schema/table-names.js";
import type { Config, LoadedConfig } from "../index.js";
import { MAX_JSON_BYTES, transportNames, urlsOf } from "../wire/config/config-schema.js";
import { oneOrAll } from "../wire/config/config-sources.js";
import { type ConfigSources, readSources } from "../wire/config/load-config.js";
import {
  choice,
  type FindValues,
  flagOf,
  type OptionSettings,
  type OptionValues,
  parsed,
  repeatedText,
  text,
} from "./declarations.js";
import type { Streams } from "./output.js";
import { parseDuration, parseInteger } from "./parsers.js";

const CONNECTION: OptionSettings = { group: "Connection:" };

/** The option that says how nodes behave; a client's own default is that of its configuration. */
export const profileOption = choice(
  "<name>",
  "rules to follow where deployed nodes differ from the API documentation",
  profiles,
);

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
  transport: parsed(
    "<names>",
    "how to connect: auto, grpc, grpc-js, rest, or a list such as rest,grpc with the preferred one first",
    parseTransports,
    { ...CONNECTION, completions: () => ({ values: ["auto", ...transportNames] }) },
  ),
  profile: { ...profileOption, ...CONNECTION },
  grpcUrl: repeatedText("<url>", "gRPC URL of the node; repeat it for several nodes of one network", CONNECTION),
  restUrl: repeatedText("<url>", "URL of the node's HTTP gateway; repeat it for several nodes", CONNECTION),
  caFile: text("<file>", "PEM file of the certificate authorities to trust, for https URLs", CONNECTION),
  connectTimeout: parsed(
    "<duration>",
    "maximum time to connect, such as 500ms, 30s, 2m; the default unit is seconds",
    parseDuration,
    CONNECTION,
  ),
  callTimeout: parsed("<duration>", "maximum duration of a call that does not stream", parseDuration, CONNECTION),
  idleTimeout: parsed("<duration>", "maximum idle time of a stream", parseDuration, CONNECTION),
  maxMessageBytes: parsed(
    "<count>",
    "maximum message size in bytes, over gRPC and REST (default: 64 MiB)",
    parseInteger,
    CONNECTION,
  ),
};

/** The option that names the chain, for commands that sign or verify. */
export const chainIdOption = text(
  "<id>",
  "chain that transactions are for; nodes on other chains are rejected. Optional for nodes on loopback",
);

/** The option that says whether an export must carry extensions. */
export const extensionsOption = choice("<rule>", "whether the first chunk must have extensions", [
  "required",
  "optional",
]);

/** The completions of a table's name. */
export const completeTables: FindValues = () => ({ values: tableNames });

export function tableOption(description: string) {
  return text("<name>", description, { completions: completeTables, isFilter: true });
}

/** Declares the option that says where transactions contain the chain's identifier. */
export function chainIdPrefixOption(description: string) {
  return choice("<rule>", description, ["signed-and-submitted", "signature-only"]);
}

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

/** Parses the names of transports, separated by commas. */
function parseTransports(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const known: readonly string[] = names.length === 1 ? ["auto", ...transportNames] : transportNames;
  const wrong = names.find((name) => !known.includes(name));
  if (wrong !== undefined) {
    const near = closestName(wrong, known);
    throw new RequestError(`unknown transport ${JSON.stringify(wrong)}`, {
      advice: `${near === undefined ? "" : `Did you mean ${near}? `}Use auto, or one or more of ${transportNames.join(", ")}.`,
    });
  }
  return names;
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
