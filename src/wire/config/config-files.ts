import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { describeType, suggestNames } from "../../base/errors/error-text.js";
import { type FileError, RequestError } from "../../base/errors/index.js";
import { fileError, hasErrorCode, quotedPath, READ_ADVICE } from "../../base/errors/node-errors.js";
import { currentUser, fileExposure, readExposure } from "../../base/file/exposure.js";
import { readFileOrPipe } from "../../base/file/read-file.js";
import type { ConfigKey } from "./config-schema.js";
import {
  absolutePath,
  CONFIG_VARIABLE,
  type Environment,
  type SourcedValue,
  type SourceKind,
  USE_VARIABLE,
} from "./config-sources.js";
import { type ConfigText, isObject, parseConfigText } from "./config-text.js";

/** The file in the working directory that is read if it exists and neither a file nor a network is named. */
export const CONFIG_FILE = "tradewire.config.json";

/** A configuration file that was read. */
export interface ConfigFile {
  readonly path: string;
  /**
   * - `own file`: in the user's configuration folder.
   * - `found file`: `tradewire.config.json` in the working directory, which the user did not name.
   * - `named file`: the one that the user named.
   */
  readonly kind: Extract<SourceKind, `${string} file`>;
  /** The network of the file that is used. */
  readonly network?: string;
  /** Why its secrets are not safe, if it has secrets that other users can read. */
  readonly warning?: string;
}

/** The user's choice: a file, a network of their own file, or nothing. `variable` is the variable that names it. */
export type FileChoice =
  | { readonly kind: "named"; readonly path: string; readonly variable?: string | undefined }
  | { readonly kind: "network"; readonly name: string; readonly variable?: string | undefined }
  | { readonly kind: "default" };

/**
 * Determines which file or network the user has named. An option takes precedence over the variables.
 *
 * @throws {@link RequestError} if both a file and a network are named
 */
export function chooseFile(
  { file, use }: { readonly file?: string | undefined; readonly use?: string | undefined },
  environment: Environment,
): FileChoice {
  const isNamedByOption = file !== undefined || use !== undefined;
  const [path, name] = isNamedByOption
    ? [file, use]
    : [environment[CONFIG_VARIABLE] || undefined, environment[USE_VARIABLE] || undefined];
  if (path !== undefined && name !== undefined) {
    throw new RequestError(
      (nameOf) =>
        isNamedByOption
          ? `${nameOf("config", "file")} and ${nameOf("use")} cannot be combined`
          : `${CONFIG_VARIABLE} and ${USE_VARIABLE} cannot both be set`,
      {
        errorCode: "TW_CONFIGURATION",
        advice:
          "Use the first to name a configuration file, or the second to select a network from your user configuration file.",
      },
    );
  }
  if (path !== undefined) {
    return { kind: "named", path, variable: isNamedByOption ? undefined : CONFIG_VARIABLE };
  }
  return name === undefined
    ? { kind: "default" }
    : { kind: "network", name, variable: isNamedByOption ? undefined : USE_VARIABLE };
}

/**
 * Returns the path of the user's own configuration file: in `XDG_CONFIG_HOME`, on Windows otherwise in `APPDATA`, and
 * elsewhere in `~/.config`.
 */
export function ownFilePath({ XDG_CONFIG_HOME = "", APPDATA = "", HOME = "" }: Environment): string | undefined {
  const folders = [XDG_CONFIG_HOME, process.platform === "win32" ? APPDATA : HOME && join(HOME, ".config")];
  const folder = folders.find((each) => isAbsolute(each));
  return folder && join(folder, "tradewire", "config.json");
}

/** Lists the networks of the user's own configuration file, for completions. */
export function ownNetworks(environment: Environment): readonly string[] {
  const path = ownFilePath(environment);
  try {
    const networks = path === undefined ? undefined : readUnnamed(path, path)?.config["networks"];
    return isObject(networks) ? Object.keys(networks) : [];
  } catch {
    return [];
  }
}

/** Where configuration files are searched, and their valid keys. */
export interface FilePlaces {
  readonly directory: string;
  readonly environment: Environment;
  readonly keys: readonly ConfigKey[];
}

/** The values of configuration files, and the files. */
export interface FileValues {
  readonly values: readonly SourcedValue[];
  readonly files: readonly ConfigFile[];
}

/**
 * Reads configuration files: the named file alone, a network of the user's own file, or the user's own file, then the one in the
 * working directory, if they exist.
 *
 * @throws {@link RequestError} if the named file or network does not exist, a file does not contain a JSON object, or a
 *   file that the user did not name can be changed by anyone except the user and root
 * @throws {@link FileError} if a file exists and cannot be read
 */
export function readConfigFiles(choice: FileChoice, places: FilePlaces): FileValues {
  if (choice.kind === "named") {
    return readNamed(choice, places);
  }
  const own = readOwn(choice, places);
  if (choice.kind === "network") {
    return own;
  }
  const path = resolve(places.directory, CONFIG_FILE);
  const text = readUnnamed(path, CONFIG_FILE);
  if (text === undefined) {
    return own;
  }
  const { config } = text;
  const values = valuesIn(text, config, { places, path, source: CONFIG_FILE, kind: "found file" });
  return { values: [...own.values, ...values], files: [...own.files, fileOf(path, "found file", [config])] };
}

function readNamed({ path: source, variable }: FileChoice & { readonly kind: "named" }, places: FilePlaces) {
  const path = resolve(places.directory, source);
  const text = readNamedText(path, source, variable);
  const values = valuesIn(text, text.config, { places, path, source, kind: "named file" });
  return { values, files: [fileOf(path, "named file", [text.config])] };
}

function readNamedText(path: string, source: string, variable: string | undefined): ConfigText {
  try {
    return parseConfigText(decode(readFileOrPipe(path)), source);
  } catch (reason) {
    if (reason instanceof RequestError) {
      throw reason;
    }
    const by = variable === undefined ? "" : ` (from ${variable})`;
    throw configFileError(reason, path, `the configuration file ${quotedPath(source)}${by}`);
  }
}

/** Returns the error of a file that cannot be read: a wrong path is a mistake in the configuration. */
function configFileError(reason: unknown, path: string, name: string): RequestError | FileError {
  if (hasErrorCode(reason, "ENOENT")) {
    return new RequestError(`${name} does not exist`, {
      errorCode: "TW_CONFIGURATION",
      advice: `Correct the path, or omit it to read ${CONFIG_FILE} if it exists.`,
    });
  }
  return hasErrorCode(reason, "EISDIR")
    ? new RequestError(`${name} is a folder`, { errorCode: "TW_CONFIGURATION", advice: "Use the path of a file." })
    : fileError(reason, path, READ_ADVICE);
}

/** Reads the user's own file: what holds for all networks, and then the network that is named or that the file uses. */
function readOwn(choice: Exclude<FileChoice, { readonly kind: "named" }>, places: FilePlaces): FileValues {
  const path = ownFilePath(places.environment);
  const text = path === undefined ? undefined : readUnnamed(path, path);
  if (path === undefined || text === undefined) {
    if (choice.kind === "network") {
      throw noNetwork(choice, path, []);
    }
    return { values: [], files: [] };
  }
  const { use, networks = {}, ...shared } = text.config;
  if (!isObject(networks)) {
    throw wrongType(path, "networks", networks, "an object of networks by their names");
  }
  if (use !== undefined && typeof use !== "string") {
    throw wrongType(path, "use", use, "the name of a network");
  }
  const wanted = choice.kind === "network" ? choice : use === undefined ? undefined : { name: use };
  const name = wanted?.name;
  if (wanted !== undefined && !Object.hasOwn(networks, wanted.name)) {
    throw noNetwork(wanted, path, Object.keys(networks), choice.kind === "default" ? `use in ${path}` : undefined);
  }
  const file = fileOf(path, "own file", [shared, ...Object.values(networks)], name);
  const ofAll = valuesIn(text, shared, { places, path, source: path, kind: "own file" });
  if (name === undefined) {
    return { values: ofAll, files: [file] };
  }
  const network = networks[name];
  if (!isObject(network)) {
    throw wrongType(path, `networks.${name}`, network, "an object of keys");
  }
  const source = `${path}, network ${name}`;
  const place = ["networks", name];
  const ofNetwork = valuesIn(text, network, { places, path, source, kind: "own file", place });
  return { values: [...(hasUrl(ofNetwork) ? withoutNodes(ofAll) : ofAll), ...ofNetwork], files: [file] };
}

export function hasUrl(values: readonly SourcedValue[]): boolean {
  return values.some(isUrl);
}

export function isUrl({ path: [group, key] }: Pick<SourcedValue, "path">): boolean {
  return (group === "grpc" || group === "rest") && key === "url";
}

/** The keys that are about certain nodes: what belongs to one node must not be used with another. */
const NODE_KEYS: ReadonlySet<string | undefined> = new Set(["transport", "chainId", "profile", "grpc", "rest"]);

/** Removes the keys that belong to specific nodes: URLs, tokens, certificates, chain. */
export function withoutNodes(values: readonly SourcedValue[]): SourcedValue[] {
  return values.filter(({ path: [group] }) => !NODE_KEYS.has(group));
}

function wrongType(path: string, key: string, value: unknown, form: string): RequestError {
  return new RequestError(`${path}: ${key} must be ${form} (got ${describeType(value)})`, {
    errorCode: "TW_CONFIGURATION",
    advice:
      'Write {"networks":{"NAME":{"grpc":{"url":"https://node.example"}}}}; see configuration.md in the documentation.',
  });
}

function noNetwork(
  { name, variable }: { readonly name: string; readonly variable?: string | undefined },
  path: string | undefined,
  names: readonly string[],
  by = variable,
): RequestError {
  const where = path === undefined ? ": no folder for a user configuration file is known" : ` in ${path}`;
  const example = JSON.stringify({ networks: { [name]: { grpc: { url: "https://node.example" } } } });
  return new RequestError((nameOf) => `${by ?? nameOf("use")}: unknown network ${JSON.stringify(name)}${where}`, {
    errorCode: "TW_CONFIGURATION",
    advice:
      path === undefined
        ? "Set HOME or XDG_CONFIG_HOME, or use a configuration file instead."
        : names.length === 0
          ? `Add it to that file: ${example}.`
          : suggestNames(name, names),
  });
}

/** Reads a file that nobody named; undefined if it does not exist. The check and the read use the same descriptor. */
function readUnnamed(path: string, source: string): ConfigText | undefined {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe waits for a writer.
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fileExposure(path, fstatSync(descriptor));
    if (found !== undefined) {
      throw new RequestError(`${quotedPath(path)} is not trusted: ${found}`, {
        errorCode: "TW_CONFIGURATION",
        advice: `Correct the permissions (chmod go-w). If you trust the file, name it: --config ${source}, ${CONFIG_VARIABLE}=${source}, or \`file\` of loadConfig().`,
      });
    }
    return parseConfigText(decode(readFileSync(descriptor)), source);
  } catch (reason) {
    if (reason instanceof RequestError) {
      throw reason;
    }
    if (hasErrorCode(reason, "ENOENT") || hasErrorCode(reason, "ENOTDIR") || !isVisible(path)) {
      return undefined;
    }
    throw configFileError(reason, path, `the configuration file ${quotedPath(path)}`);
  } finally {
    if (descriptor !== undefined) {
      closeSync(descriptor);
    }
  }
}

/** Returns whether this user may look at a file. The home folder in a container may be another user's. */
function isVisible(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Decodes UTF-8. Unlike Node's "utf8", it strips a byte order mark. */
const decode = (bytes: Buffer) => new TextDecoder().decode(bytes);

/** Describes a file, and warns of secrets in it that other users can read. */
function fileOf(path: string, kind: ConfigFile["kind"], configs: readonly unknown[], network?: string): ConfigFile {
  const user = currentUser();
  const stats = user !== undefined && configs.some(hasSecret) ? statSync(path, { throwIfNoEntry: false }) : undefined;
  const readers = stats?.isFile() === true && user !== undefined ? readExposure("it", stats, user) : undefined;
  return {
    path,
    kind,
    ...(network !== undefined && { network }),
    ...(readers !== undefined && { warning: `it contains secrets, and ${readers}` }),
  };
}

/** Returns whether a configuration has headers, a private key, or the URL of a proxy with a password. */
function hasSecret(config: unknown): boolean {
  if (!isObject(config)) {
    return false;
  }
  const { grpc, rest, proxy } = config;
  const endpoints = [grpc, rest].filter(isObject);
  return (
    endpoints.some(({ headers, tls }) => headers !== undefined || (isObject(tls) && tls["key"] !== undefined)) ||
    /:[^/]*@/.test(JSON.stringify(proxy ?? ""))
  );
}

/** Where values are in a file, and which source they name. */
interface ValuePlace {
  readonly places: FilePlaces;
  readonly path: string;
  readonly source: string;
  readonly kind: SourceKind;
  /** The path of the object in the file. */
  readonly place?: readonly string[];
}

function valuesIn(
  text: ConfigText,
  config: Readonly<Record<string, unknown>>,
  { places: { keys }, path, source, kind, place = [] }: ValuePlace,
): SourcedValue[] {
  return leaves(config, keys).map((leaf) => {
    const key = keys.find(({ name }) => name === leaf.path.join("."));
    const findLine = () => text.lineOf([...place, ...leaf.path]);
    return { path: leaf.path, value: absolutePath(leaf.value, key, dirname(path)), source, kind, findLine };
  });
}

/** Returns the values in an object, with the paths of their keys. Includes unknown keys, so that the schema rejects them. */
function leaves(
  value: unknown,
  keys: readonly ConfigKey[],
  path: readonly string[] = [],
): Pick<SourcedValue, "path" | "value">[] {
  const isGroup = keys.some((key) => key.path.length > path.length && path.every((part, at) => key.path[at] === part));
  return isGroup && isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, keys, [...path, key]))
    : [{ path, value }];
}
