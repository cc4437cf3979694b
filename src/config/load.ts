import { requireKnown, requireOneOf } from "../errors/check-values.js";
import { CONFIG_VARIABLE, type Environment, fromEnvironment } from "./environment.js";
import { fromFile, type NamedFile } from "./file.js";
import { absolute, type Given, isObject } from "./given.js";
import { type ConfigPlaces, onePlace } from "./issues.js";
import { valueAt } from "./keys.js";
import { requireRanks } from "./ranks.js";
import { type Config, configKeys, readConfigFrom } from "./schema.js";

/** The ports that deployed nodes and the local one take by default. */
export const DEFAULT_GRPC_PORT = 3007;
export const DEFAULT_REST_PORT = 3008;

/** Where a configuration is looked for. */
export interface LoadConfigOptions {
  /**
   * Path of the file, which must exist. By default it is the file that `TRADEWIRE_CONFIG` names; without that,
   * `tradewire.config.json` in the working directory, if it exists and nobody but the user and root can change it.
   */
  readonly file?: string | undefined;
  /**
   * Whether the configuration is for signing with a key. Then neither the chain nor the node may come from a file that
   * was found. By default false.
   */
  readonly forSigning?: boolean | undefined;
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
  /** The keys whose values come from a file that was found, not named. */
  readonly found: ReadonlySet<string>;
}

/**
 * Load a configuration: defaults < found file < named file < environment variables < arguments, key by key. Headers are one
 * key. A secret is never combined with what a file that was found says of the node or the chain, unless the secret comes
 * from that file, too.
 *
 * If no source gives a URL, both URLs are those of a local node. Paths of files come back absolute: those in the file
 * are relative to its folder, all others to `options.directory`.
 *
 * @param options the sources to read; by default the default file, if it exists, and the process's environment
 * @returns the configuration with every default filled in, and the source of each value
 * @throws {@link RequestError} where a value is wrong or a key unknown: the message names the source and the key, what
 *   was found (never a secret) and what is possible; also if the named file does not exist, others can change the default file, or
 *   it would decide where a secret goes
 * @throws {@link FileError} where the file exists and cannot be read
 *
 * @example
 * const { config } = loadConfig();
 * await using client = createClient(config);
 */
export function loadConfig(options: LoadConfigOptions = {}): LoadedConfig {
  requireKnown("options", options, {
    file: true,
    forSigning: true,
    environment: true,
    arguments: true,
    directory: true,
  });
  requireOneOf("forSigning", options.forSigning, [true, false]);
  return readSources(options)(options.arguments);
}

/** Makes a configuration of sources that were read, and of arguments. */
export type ConfigSources = (given?: readonly ConfigArgument[]) => LoadedConfig;

/**
 * Read the file and the environment, once, for configurations that differ only in their arguments. A file that is a pipe
 * can be read only once, and one that changes meanwhile gives no mixture.
 *
 * @param options the sources to read, as for {@link loadConfig}
 * @returns makes a configuration with these sources and the arguments; throws {@link RequestError} as `loadConfig` does
 * @throws {@link RequestError} if the file is wrong or not trusted
 * @throws {@link FileError} where the file exists and cannot be read
 */
export function readSources(options: Omit<LoadConfigOptions, "arguments">): ConfigSources {
  const directory = options.directory ?? process.cwd();
  const environment = options.environment ?? process.env;
  const sources = [
    ...fromFile(namedFile(options.file, environment), directory, configKeys),
    ...fromEnvironment(environment, directory, configKeys),
  ];
  return (given = []) => merge([...sources, ...fromArguments(given, directory)], options.forSigning === true);
}

/** Merges values, later ones over earlier ones. */
function merge(values: readonly Given[], forSigning: boolean): LoadedConfig {
  const given = [...values];
  if (!given.some(({ path: [group, key] }) => (group === "grpc" || group === "rest") && key === "url")) {
    given.unshift(...defaultUrls);
  }
  const merged = emptyObject();
  const sources = new Map<string, string>();
  const found = new Set<string>();
  for (const { path, value, source, isFound = false } of given) {
    const name = path.join(".");
    setAt(merged, path, value);
    sources.set(name, source);
    if (isFound) {
      found.add(name);
    } else {
      found.delete(name);
    }
  }
  const config = readConfigFrom(merged, placesOf(sources));
  const valued = configKeys.filter(({ path }) => valueAt(config, path) !== undefined);
  const loaded = { config, sources: new Map(valued.map(({ name }) => [name, sources.get(name) ?? "default"])), found };
  requireRanks(loaded, forSigning);
  return loaded;
}

function namedFile(file: string | undefined, environment: Environment): NamedFile | undefined {
  const path = environment[CONFIG_VARIABLE];
  if (file !== undefined) {
    return { path: file };
  }
  return path === undefined || path === "" ? undefined : { path, variable: CONFIG_VARIABLE };
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
