import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, assertOneOf, assertString } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { type Config, type ProxyRules, transportsOf } from "./client-config.js";
import {
  CONFIG_FILE,
  type ConfigFile,
  chooseFile,
  type FileChoice,
  type FileValues,
  hasUrl,
  isUrl,
  readConfigFiles,
  withoutNodes,
} from "./config-files.js";
import {
  type ConfigOrigins,
  configKeys,
  isProxyUrl,
  PROXY_FORM,
  parseConfig,
  singleOrigin,
  valueAt,
} from "./config-schema.js";
import {
  absolutePath,
  CONFIG_VARIABLE,
  type Environment,
  readEnvironment,
  type SourcedValue,
} from "./config-sources.js";
import { isObject } from "./config-text.js";
import { proxyFor } from "./proxy.js";

export type { ConfigFile };

/** The default ports of deployed nodes and of the local node. */
export const DEFAULT_GRPC_PORT = 3007;
export const DEFAULT_REST_PORT = 3008;

/** The sources of a configuration. */
export interface LoadConfigOptions {
  /**
   * The path of the file, which must exist, and is then the only one. By default the file that `TRADEWIRE_CONFIG` names, or
   * otherwise the user's own file and `tradewire.config.json` in the working directory, if they exist and only the user
   * and root can change them.
   */
  readonly file?: string | undefined;
  /**
   * A network of the user's own file, which is then the only file. By default the network that `TRADEWIRE_USE` names, or
   * otherwise the one that the file itself names with `use`.
   */
  readonly use?: string | undefined;
  /**
   * Whether the configuration is used for signing with a key. Then neither the chain nor the node may come from the default
   * file. By default false.
   */
  readonly forSigning?: boolean | undefined;
  /** The environment variables; by default the process's. Empty variables count as unset. */
  readonly environment?: Environment | undefined;
  /** Values that override all others, such as a command's options. */
  readonly arguments?: readonly ConfigArgument[] | undefined;
  /** The directory for relative paths, except those in a file; by default the working directory. */
  readonly directory?: string | undefined;
}

/** A value from a command's arguments. */
export interface ConfigArgument {
  /** The name of the argument, such as `--grpc-url`. */
  readonly name: string;
  /** The key that it sets, such as `grpc.url`. */
  readonly key: string;
  /** The value; undefined if the argument is missing. */
  readonly value: unknown;
}

/** A configuration, and the sources of its values. */
export interface LoadedConfig {
  readonly config: Config;
  /**
   * The source of each key that has a value, by the key's name: `default`, the path of the file, the path and the network
   * (`PATH, network NAME`), `environment variable NAME` or the name of the argument.
   */
  readonly sources: ReadonlyMap<string, string>;
  /** The keys whose values come from `tradewire.config.json` in the working directory, which the user did not name. */
  readonly found: ReadonlySet<string>;
  /** The files that were read. Values of later files replace those of earlier ones. */
  readonly files: readonly ConfigFile[];
  /** Returns the line of a key's value in its file, counted from 1; undefined if the value does not come from a file. */
  readonly lineOf: (key: string) => number | undefined;
}

/**
 * Loads a configuration. For each key, the last of these sources takes precedence: defaults, files, environment
 * variables, arguments. The files are the named one, or otherwise the user's own file and the one found in the working
 * directory. Headers are one key. If no source has `proxy`, it comes from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
 *
 * The node settings of the user's own file are used only if no other source has a URL: its tokens never go to another
 * node. A secret is never combined with a node or chain from the found file, unless the secret comes from that file,
 * too.
 *
 * If no source has a URL, the URLs are those of a local node. Paths of files become absolute: those in a file are relative
 * to its directory, all others to `options.directory`.
 *
 * @param options the sources to read; by default the files that exist, and the process's environment
 * @returns the configuration with all defaults, and the source of each value
 * @throws {@link RequestError} if a value is invalid or a key is unknown: the error names the source, the key, the value
 *  (never a secret) and the valid values. Also if the named file or network does not exist, if other users can change a
 * file that the user did not name, or if the found file would decide where a secret goes
 * @throws {@link FileError} if the file exists and cannot be read
 *
 * @example
 * const { config } = loadConfig();
 * await using client = createClient(config);
 */
export function loadConfig(options: LoadConfigOptions = {}): LoadedConfig {
  options = snapshot(options);
  assertKnownKeys("options", options, {
    file: true,
    use: true,
    forSigning: true,
    environment: true,
    arguments: true,
    directory: true,
  });
  assertOneOf("forSigning", options.forSigning, [true, false]);
  if (options.use !== undefined) {
    assertString("use", options.use);
  }
  return readSources(options)(options.arguments);
}

/** Returns the configuration of sources that were read before, and of arguments. */
export type ConfigSources = (configArguments?: readonly ConfigArgument[]) => LoadedConfig;

/**
 * Reads the file and the environment once, for several configurations that differ only in their arguments. A pipe can be
 * read only once, and all configurations have the same values even if the file changes.
 *
 * @throws {@link RequestError} if the file is invalid or not trusted
 * @throws {@link FileError} if the file exists and cannot be read
 */
export function readSources(options: Omit<LoadConfigOptions, "arguments">): ConfigSources {
  const directory = options.directory ?? process.cwd();
  const environment = options.environment ?? process.env;
  const choice = chooseFile(options, environment);
  const ofFiles = readConfigFiles(choice, { directory, environment, keys: configKeys });
  const ofEnvironment = readEnvironment(environment, directory, configKeys);
  return (configArguments = []) => {
    const others = [...ofEnvironment, ...fromArguments(configArguments, directory)];
    const values = [...usedOf(ofFiles, others, choice), ...others];
    return merge(values, { files: ofFiles.files, environment, forSigning: options.forSigning === true });
  };
}

/** Leaves out what the user's own file says about nodes, if another source has the URL of a node. */
function usedOf({ values }: FileValues, others: readonly SourcedValue[], choice: FileChoice): SourcedValue[] {
  const own = values.filter(({ kind }) => kind === "own file");
  const rest = values.filter(({ kind }) => kind !== "own file");
  if (!hasUrl([...rest, ...others])) {
    return [...values];
  }
  const named = choice.kind === "network" ? choice : undefined;
  const conflicting = others.find(
    (value) => isUrl(value) && (named?.variable === undefined || value.kind === "environment"),
  );
  if (named !== undefined && conflicting !== undefined && hasUrl(own)) {
    throw new RequestError(
      (nameOf) =>
        `the network ${named.name}, selected by ${named.variable ?? nameOf("use")}, conflicts with ${conflicting.path.join(".")}, set by ${conflicting.source}`,
      {
        errorCode: "TW_CONFIGURATION",
        advice: "Remove one of them: both select the node.",
      },
    );
  }
  return [...withoutNodes(own), ...rest];
}

interface MergeOptions {
  readonly files: readonly ConfigFile[];
  readonly environment: Environment;
  readonly forSigning: boolean;
}

function merge(values: readonly SourcedValue[], { files, environment, forSigning }: MergeOptions): LoadedConfig {
  const all = [...values];
  if (!hasUrl(all)) {
    all.unshift(...defaultUrls);
  }
  if (!all.some(({ path: [key] }) => key === "proxy")) {
    const urls = all.flatMap((each) => (isUrl(each) ? [each.value].flat().filter(isValidUrl) : []));
    all.unshift(...readEnvironmentProxies(environment, urls));
  }
  const merged = emptyObject();
  const last = new Map<string, SourcedValue>();
  for (const each of all) {
    setAt(merged, each.path, each.value);
    last.set(each.path.join("."), each);
  }
  const config = parseConfig(merged, originsOf(last));
  const valued = configKeys.filter(({ path }) => valueAt(config, path) !== undefined);
  const sources = new Map(valued.map(({ name }) => [name, last.get(name)?.source ?? "default"]));
  const found = new Set([...last].flatMap(([name, { kind }]) => (kind === "found file" ? [name] : [])));
  const lineOf = (key: string) => last.get(key)?.findLine?.();
  const loaded = { config, sources, found, files, lineOf };
  assertTrustedSources(loaded, forSigning);
  return loaded;
}

const isValidUrl = (value: unknown): value is string => typeof value === "string" && URL.canParse(value);

const defaultUrls: readonly SourcedValue[] = [
  { path: ["grpc", "url"], value: `http://127.0.0.1:${DEFAULT_GRPC_PORT}`, source: "default", kind: "default" },
  { path: ["rest", "url"], value: `http://127.0.0.1:${DEFAULT_REST_PORT}`, source: "default", kind: "default" },
];

function fromArguments(configArguments: readonly ConfigArgument[], directory: string): SourcedValue[] {
  return configArguments.flatMap(({ name, key, value }) => {
    const known = configKeys.find((candidate) => candidate.name === key);
    return value === undefined
      ? []
      : [{ path: key.split("."), value: absolutePath(value, known, directory), source: name, kind: "argument" }];
  });
}

/** Sets the value at a path. Keeps a value that is in the place of a group, so that the schema rejects it. */
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

/** Returns an object in which `__proto__` is an ordinary key. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null);
}

/**
 * Returns the origins of a configuration with several sources. A missing key has the sources of its neighbors. An argument
 * that sets one key alone names the place, like a flag of a command.
 */
function originsOf(values: ReadonlyMap<string, SourcedValue>): ConfigOrigins {
  return {
    sourceOf: (name) => values.get(name)?.source,
    at(path) {
      const own = values.get(path.join("."));
      const isOnlyKey = [...values.values()].filter(({ source }) => source === own?.source).length === 1;
      if (own?.kind === "argument" && isOnlyKey) {
        return own.source;
      }
      for (let length = path.length; length > 0; length -= 1) {
        const place = `${path.slice(0, length).join(".")}.`;
        const near = [...values].flatMap(([name, { source }]) =>
          source !== "default" && (place.startsWith(`${name}.`) || `${name}.`.startsWith(place)) ? [source] : [],
        );
        if (near.length > 0) {
          return `${[...new Set(near)].join(", ")}: ${path.join(".")}`;
        }
      }
      return singleOrigin.at(path);
    },
  };
}

/** The keys that decide which server is called, and how it is authenticated. */
const SERVER_KEYS = ["url", "addresses", "allowInsecureHeaders", "tls.ca", "tls.caFile", "tls.serverName"] as const;

/** The names of the keys that decide which server an endpoint calls, and through which proxy. */
const serverKeysOf = (endpoint: "grpc" | "rest") => [...SERVER_KEYS.map((key) => `${endpoint}.${key}`), "proxy"];

/** The keys whose values only a server that the user chose may receive. */
const SECRET_KEYS = ["headers", "tls.keyFile", "tls.key"] as const;

/**
 * Throws if a secret would go to a server or chain from a less trusted source. Options, environment variables and a named
 * file are the user's choice. The default file in the working directory may come from someone else, for example with a
 * cloned repository. The default URLs are fixed and on loopback.
 *
 * @throws {@link RequestError} with the keys and their sources
 */
function assertTrustedSources({ config, sources, found }: LoadedConfig, forSigning: boolean): void {
  for (const endpoint of ["grpc", "rest"] as const) {
    const serverKeys = serverKeysOf(endpoint).filter((name) => found.has(name));
    const secret = SECRET_KEYS.map((key) => `${endpoint}.${key}`).find((name) => sources.has(name) && !found.has(name));
    if (secret !== undefined && serverKeys.length > 0) {
      throw refusal(`${secret} is set by ${sources.get(secret)}`, serverKeys);
    }
  }
  if (forSigning) {
    const { transport } = config;
    const called = transportsOf(transport).map((each) => (each === "rest" ? "rest" : "grpc"));
    const deciding = ["chainId", ...new Set(called.flatMap(serverKeysOf))];
    const foundKeys = deciding.filter((name) => found.has(name));
    if (foundKeys.length > 0) {
      throw refusal("the signing key is not from that file", foundKeys);
    }
  }
}

function refusal(secret: string, names: readonly string[]): RequestError {
  const what = `${names.join(", ")} ${names.length === 1 ? "is" : "are"}`;
  return new RequestError(
    `the configuration is invalid: ${secret}, but ${what} set by ${CONFIG_FILE}, which was found and not named explicitly`,
    {
      errorCode: "TW_CONFIGURATION",
      advice:
        `If you trust the file, name it: --config ${CONFIG_FILE}, ${CONFIG_VARIABLE}=${CONFIG_FILE}, or \`file\` of ` +
        "loadConfig(). Otherwise set these keys by options or environment variables. Nothing was sent or signed.",
    },
  );
}

/**
 * Reads the proxies that the environment names: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, whose lower-case names take
 * precedence, as in curl. A proxy without a scheme has `http:`. In a CGI program, where a client chooses `HTTP_PROXY` by a
 * header, only the lower-case name is read (https://httpoxy.org).
 *
 * @throws {@link RequestError} if a variable that is needed is not the URL of an HTTP proxy; the error never shows it
 */
function readEnvironmentProxies(environment: Environment, urls: readonly string[]): SourcedValue[] {
  const find = (...names: readonly string[]) =>
    names.flatMap((name) => {
      const text = environment[name]?.trim();
      return text === undefined || text === "" ? [] : [{ name, text }];
    })[0];
  const isCgi = (environment["REQUEST_METHOD"] ?? "") !== "";
  const https = find("https_proxy", "HTTPS_PROXY");
  const http = isCgi ? find("http_proxy") : find("http_proxy", "HTTP_PROXY");
  const except = find("no_proxy", "NO_PROXY");
  const rules: ProxyRules = {
    ...(https && { https: withScheme(https.text) }),
    ...(http && { http: withScheme(http.text) }),
    ...(except && { noProxy: except.text.split(/[\s,]+/).filter((rule) => rule !== "") }),
  };
  const used = new Set(urls.flatMap((url) => proxyFor(rules, url) ?? []));
  if (used.size === 0) {
    return [];
  }
  for (const [variable, url] of [
    [https, rules.https],
    [http, rules.http],
  ] as const) {
    if (variable !== undefined && url !== undefined && used.has(url) && !isProxyUrl(url)) {
      throw new RequestError(`environment variable ${variable.name} ${PROXY_FORM}`, {
        errorCode: "TW_CONFIGURATION",
        advice: "Correct or unset it, add the node to NO_PROXY, or set proxy to false (TRADEWIRE_PROXY=false).",
      });
    }
  }
  const names = [https, http, except].flatMap((each) => each?.name ?? []);
  const source = `environment variable${names.length === 1 ? "" : "s"} ${names.join(", ")}`;
  return [{ path: ["proxy"], value: rules, source, kind: "environment" }];
}

const withScheme = (text: string) => (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
