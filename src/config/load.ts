import { requireKnown } from "../errors/check-values.js";
import { type Environment, fromEnvironment } from "./environment.js";
import { fromFile } from "./file.js";
import { absolute, type Given, isObject } from "./given.js";
import { type ConfigPlaces, onePlace } from "./issues.js";
import { valueAt } from "./keys.js";
import { type Config, configKeys, readConfigFrom } from "./schema.js";

/** The ports that deployed nodes and the local one take by default. */
export const DEFAULT_GRPC_PORT = 3007;
export const DEFAULT_REST_PORT = 3008;

/** Where a configuration is looked for. */
export interface LoadConfigOptions {
  /** Path of the file, which must exist; by default `tradewire.config.json` in the working directory, if it exists. */
  readonly file?: string | undefined;
  /** The environment variables; by default the process's own. Those that are empty count as not set. */
  readonly environment?: Environment | undefined;
  /** Values that override all others, such as a command's options. */
  readonly arguments?: readonly ConfigArgument[] | undefined;
  /** The folder for relative paths, except for those in a file; by default the working directory. */
  readonly directory?: string | undefined;
}

/** A value out of a command's arguments. */
export interface ConfigArgument {
  /** The argument's name for the user, such as `--grpc-url`. */
  readonly name: string;
  /** The key that it sets, such as `grpc.url`. */
  readonly key: string;
  /** The value; undefined where the argument was not given. */
  readonly value: unknown;
}

/** A configuration, and the sources of its values. */
export interface LoadedConfig {
  readonly config: Config;
  /**
   * The source of each key that has a value, by the key's name: `default`, the path of the file,
   * `environment variable NAME` or the name of the argument.
   */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * Load a configuration: defaults < file < environment variables < arguments, key by key. Headers are one key.
 *
 * If no source gives a URL, both URLs are those of a local node. Paths of files come back absolute: those in the file
 * are relative to its folder, all others to `options.directory`.
 *
 * @param options the sources to read; by default the default file, if it exists, and the process's environment
 * @returns the configuration with every default filled in, and the source of each value
 * @throws {@link RequestError} where a value is wrong or a key unknown: the message names the source and the key, what
 *   was found (never a secret) and what is possible; also where `options.file` does not exist
 * @throws {@link FileError} where the file exists and cannot be read
 *
 * @example
 * const { config } = loadConfig();
 * await using client = createClient(config);
 */
export function loadConfig(options: LoadConfigOptions = {}): LoadedConfig {
  requireKnown("options", options, { file: true, environment: true, arguments: true, directory: true });
  const directory = options.directory ?? process.cwd();
  const given = [
    ...fromFile(options.file, directory, configKeys),
    ...fromEnvironment(options.environment ?? process.env, directory, configKeys),
    ...fromArguments(options.arguments ?? [], directory),
  ];
  if (!given.some(({ path: [group, key] }) => (group === "grpc" || group === "rest") && key === "url")) {
    given.unshift(...defaultUrls);
  }
  const merged = emptyObject();
  const sources = new Map<string, string>();
  for (const { path, value, source } of given) {
    setAt(merged, path, value);
    sources.set(path.join("."), source);
  }
  const config = readConfigFrom(merged, placesOf(sources));
  const valued = configKeys.filter(({ path }) => valueAt(config, path) !== undefined);
  return { config, sources: new Map(valued.map(({ name }) => [name, sources.get(name) ?? "default"])) };
}

const defaultUrls: readonly Given[] = [
  { path: ["grpc", "url"], value: `http://127.0.0.1:${DEFAULT_GRPC_PORT}`, source: "default" },
  { path: ["rest", "url"], value: `http://127.0.0.1:${DEFAULT_REST_PORT}`, source: "default" },
];

function fromArguments(given: readonly ConfigArgument[], directory: string): Given[] {
  return given.flatMap(({ name, key, value }) => {
    const known = configKeys.find((candidate) => candidate.name === key);
    return value === undefined
      ? []
      : [{ path: key.split("."), value: absolute(value, known, directory), source: name }];
  });
}

/** Set the value at a path. A value that stands in the place of a group is left there, and the schema refuses it. */
function setAt(config: Record<string, unknown>, [key = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    config[key] = value;
    return;
  }
  const inner = config[key] === undefined ? emptyObject() : config[key];
  config[key] = inner;
  if (isObject(inner)) {
    setAt(inner, rest, value);
  }
}

/** An object in which `__proto__` is a key like any other. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null);
}

/** The places in a configuration of several sources. A missing key is placed in the sources of its neighbours. */
function placesOf(sources: ReadonlyMap<string, string>): ConfigPlaces {
  return {
    sourceOf: (name) => sources.get(name),
    at(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const place = `${path.slice(0, length).join(".")}.`;
        const near = [...sources].filter(
          ([name, source]) => source !== "default" && (place.startsWith(`${name}.`) || `${name}.`.startsWith(place)),
        );
        if (near.length > 0) {
          return `${[...new Set(near.map(([, source]) => source))].join(", ")}: ${path.join(".")}`;
        }
      }
      return onePlace.at(path);
    },
  };
}
