import { ownFilePath } from "../config/config-files.js";
import { transportsOf, urlsOf } from "../config/config-schema.js";
import { ConnectionError } from "../errors/index.js";
import type { LoadedConfig } from "../index.js";
import { printable, type Streams } from "./output.js";

/** The configuration that a command uses, as far as errors and notes need it. */
export interface UsedConfig {
  /** Takes note of a configuration, and warns once of each file whose secrets other users can read. */
  readonly onConfig: (loaded: LoadedConfig) => void;
  /** Returns where the URLs of nodes that cannot be reached come from, and how to name others; empty for other errors. */
  readonly adviceOn: (reason: unknown) => string;
}

/**
 * Creates the observer of the configuration that a command uses.
 *
 * @param streams the stream for warnings, and the environment variables
 * @returns the observer
 */
export function watchConfig(streams: Pick<Streams, "notes" | "environment">): UsedConfig {
  const warnings = new Set<string>();
  let used: LoadedConfig | undefined;
  return {
    onConfig(loaded) {
      used = loaded;
      for (const { path, warning } of loaded.files) {
        if (warning !== undefined && !warnings.has(path)) {
          warnings.add(path);
          const text = printable(`${path}: ${warning}`);
          streams.notes.write(`tradewire: ${text}. Make it private: chmod 600\n`);
        }
      }
    },
    adviceOn(reason) {
      const isUnreachable = reason instanceof ConnectionError && !reason.connected && !reason.isClosed;
      return isUnreachable && used !== undefined ? originsOf(used, streams) : "";
    },
  };
}

/** Says where the URLs of the nodes come from, and how to name others. */
function originsOf(loaded: LoadedConfig, { environment }: Pick<Streams, "environment">): string {
  const { config, sources } = loaded;
  const endpoints = new Set(transportsOf(config.transport).map((each) => (each === "rest" ? "rest" : "grpc")));
  const urls = [...endpoints].flatMap((endpoint) =>
    urlsOf(config[endpoint]).map((url) => ({ url, key: `${endpoint}.url` })),
  );
  if (urls.every(({ key }) => sources.get(key) === "default")) {
    const file = ownFilePath(environment) ?? "a configuration file";
    const defaults = urls.map(({ url }) => url).join(" and ");
    return `No node is configured, so this is the default (${defaults}): start a local node with \`tradewire devnode\`, or name your node with --grpc-url, --rest-url or in ${file}.`;
  }
  return urls.map(({ url, key }) => `${url} comes from ${originOf(loaded, key)}.`).join(" ");
}

/**
 * Returns where the value of a key comes from.
 *
 * @param loaded the configuration
 * @param key the name of the key
 * @returns its source, with the line if it is a file
 */
export function originOf({ sources, lineOf }: LoadedConfig, key: string): string {
  const line = lineOf(key);
  return `${sources.get(key) ?? "default"}${line === undefined ? "" : `, line ${line}`}`;
}
