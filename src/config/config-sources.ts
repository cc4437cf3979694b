import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "@humanwhocodes/momoa";
import { closestName, describeType } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { fileError, hasErrorCode, isError, quotedPath, READ_ADVICE } from "../errors/node-errors.js";
import { currentUser, entryExposure, exposure, folderExposure } from "../file/exposure.js";
import { type ConfigKey, VARIABLE_PREFIX } from "./config-schema.js";

/** A value of the configuration, with its source. */
export interface SourcedValue {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: string;
  /** Whether the source is the default file, which nobody named. */
  readonly isFound?: boolean;
  /** Whether the source is an argument, which sets no other key. */
  readonly isArgument?: boolean;
}

/**
 * Makes the value of a key absolute, if it is the path of a file.
 *
 * @param value the value of a key
 * @param key the key; undefined if it is unknown
 * @param directory the directory for relative paths
 * @returns the absolute path if the value of the key is a path, otherwise the value unchanged
 */
export function absolutePath(value: unknown, key: ConfigKey | undefined, directory: string): unknown {
  return key?.kind === "file" && typeof value === "string" && value !== "" ? resolve(directory, value) : value;
}

/**
 * Returns whether a value is an object with keys.
 *
 * @param value any value
 * @returns true for an object that is neither null nor an array
 */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable of the seed with which commands sign. It is secret, and not a part of the configuration. */
export const SEED_VARIABLE = `${VARIABLE_PREFIX}SEED`;

/** The variable that names the configuration file. */
export const CONFIG_VARIABLE = `${VARIABLE_PREFIX}CONFIG`;

/**
 * Reads the values in the environment. Empty variables count as unset.
 *
 * @param environment the environment variables
 * @param directory the directory for relative paths
 * @param keys the keys of the configuration
 * @returns a value for each variable that is set, as the schema expects it
 * @throws {@link RequestError} if a variable with the prefix is unknown
 */
export function readEnvironment(
  environment: Environment,
  directory: string,
  keys: readonly ConfigKey[],
): SourcedValue[] {
  const set = Object.entries(environment).flatMap(([name, text]) =>
    name.startsWith(VARIABLE_PREFIX) &&
    name !== SEED_VARIABLE &&
    name !== CONFIG_VARIABLE &&
    text !== undefined &&
    text !== ""
      ? [{ name, text }]
      : [],
  );
  const variables = keys.map(({ variable }) => variable.slice(VARIABLE_PREFIX.length));
  const unknown = set
    .map(({ name }) => name.slice(VARIABLE_PREFIX.length))
    .filter((name) => !variables.includes(name))
    .map((name) => {
      const near = closestName(name, variables);
      const hint = near === undefined ? "" : `; the nearest is ${VARIABLE_PREFIX}${near}`;
      return `environment variable ${VARIABLE_PREFIX}${name} is not known${hint}`;
    });
  if (unknown.length > 0) {
    throw new RequestError(unknown.join("; "), {
      section: "requesterror-configuration",
      advice: `Correct or unset it; what begins with ${VARIABLE_PREFIX} must be listed in docs/configuration.md.`,
    });
  }
  return set.flatMap(({ name, text }) => {
    const key = keys.find(({ variable }) => variable === name);
    const source = `environment variable ${name}`;
    return key === undefined
      ? []
      : [{ path: key.path, value: absolutePath(fromText(text, key), key, directory), source }];
  });
}

/** Parses the text of a variable. Returns invalid text unchanged, so that the schema rejects it. */
function fromText(text: string, { kind }: ConfigKey): unknown {
  switch (kind) {
    case "number":
      return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" || (text === "false" ? false : text);
    case "list":
      return itemsOf(text);
    case "texts":
      return oneOrAll(itemsOf(text));
    case "proxy":
      return text === "false" ? false : text;
    case "headers":
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    default:
      return text;
  }
}

const itemsOf = (text: string) => text.split(",").map((item) => item.trim());

/**
 * Returns the value of a key that takes one text or several.
 *
 * @param texts the texts
 * @returns the text, if there is only one, and otherwise all of them
 */
export function oneOrAll(texts: readonly string[]): string | readonly string[] {
  const [only] = texts;
  return only !== undefined && texts.length === 1 ? only : texts;
}

/** The default configuration file. It is read if it exists and no other file is named. */
export const CONFIG_FILE = "tradewire.config.json";

/** A configuration file that the user named. */
export interface NamedFile {
  readonly path: string;
  /** The environment variable that named it, if one did. */
  readonly variable?: string | undefined;
}

/**
 * Reads the values in a configuration file: the named file, which must exist, or the default file if it exists.
 *
 * @param named the file that the user named; undefined for {@link CONFIG_FILE}
 * @param directory the directory for relative paths
 * @param keys the keys of the configuration
 * @returns a value for each entry, with paths of files absolute; none if there is no file
 * @throws {@link RequestError} if the named file does not exist, a file does not contain a JSON object, or users other than
 *   this one and root can change the default file
 * @throws {@link FileError} if the file exists and cannot be read
 */
export function readConfigFile(
  named: NamedFile | undefined,
  directory: string,
  keys: readonly ConfigKey[],
): SourcedValue[] {
  const source = named?.path ?? CONFIG_FILE;
  const path = resolve(directory, source);
  const text = readText(path, named);
  if (text === undefined) {
    return [];
  }
  const config = parseJson(text, source);
  if (!isObject(config)) {
    throw new RequestError(`${source}: it is ${describeType(config)}, but must be an object`, {
      section: "requesterror-configuration",
      advice: 'Write an object of keys, such as {"grpc":{"url":"https://node.example"}}; see docs/configuration.md.',
    });
  }
  const isFound = named === undefined;
  return leaves(config, keys).map((leaf) => {
    const key = keys.find(({ name }) => name === leaf.path.join("."));
    return { path: leaf.path, value: absolutePath(leaf.value, key, dirname(path)), source, isFound };
  });
}

function readText(path: string, named: NamedFile | undefined): string | undefined {
  try {
    const bytes = named === undefined ? readFound(path) : readFileSync(path);
    return new TextDecoder().decode(bytes); // Unlike Node's "utf8", it strips a byte order mark.
  } catch (reason) {
    if (reason instanceof RequestError) {
      throw reason;
    }
    if (!hasErrorCode(reason, "ENOENT")) {
      throw fileError(reason, path, READ_ADVICE);
    }
    if (named === undefined) {
      return undefined;
    }
    const { variable } = named;
    const by = variable === undefined ? "" : `, which ${variable} names,`;
    throw new RequestError(`the configuration file ${quotedPath(named.path)}${by} does not exist`, {
      section: "requesterror-configuration",
      advice: `Correct the path, or leave it out: then ${CONFIG_FILE} is read, if it exists.`,
    });
  }
}

/** Reads the default file. The check and the read use the same descriptor, so that nobody can swap the file in between. */
function readFound(path: string): Buffer {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    requireTrusted(path, fstatSync(descriptor));
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Throws if users other than this one and root can change or replace the default file. */
function requireTrusted(path: string, stats: Stats): void {
  const user = currentUser();
  if (user === undefined) {
    return;
  }
  const found =
    exposure("it", stats, user) ??
    entryExposure(path, user, "the link to it") ??
    folderExposure(dirname(path), user) ??
    folderExposure(dirname(realpathSync(path)), user);
  if (found !== undefined) {
    throw new RequestError(`${quotedPath(path)} is not read: ${found}`, {
      section: "requesterror-configuration",
      advice: `If you trust it, name it: --config ${CONFIG_FILE}, ${CONFIG_VARIABLE}=${CONFIG_FILE}, or \`file\` of loadConfig().`,
    });
  }
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    const endsEarly = isError(reason) && reason.message.includes("end of JSON input");
    // The caught error is not the cause, because it quotes the text, which may contain a token.
    throw new RequestError(`${source}: it is not JSON: ${endsEarly ? "it ends too early" : placeOfMistake(text)}`, {
      section: "requesterror-configuration",
      advice: "Correct it there or just before; comments and trailing commas are not possible in JSON.",
    });
  }
}

const NO_PLACE = "its braces, commas and quotes do not fit together";

/** Returns where a text stops being valid JSON, if the parser reports it. */
function placeOfMistake(text: string): string {
  try {
    parse(text, { mode: "json" });
    // The parser accepts line breaks in strings, which JSON must escape.
    const line = text.split("\n").findIndex((each) => each.replace(/\\./g, "").split('"').length % 2 === 0);
    return line === -1 ? NO_PLACE : `a text is not closed on line ${line + 1}`;
  } catch (reason) {
    const { line, column } = Object(reason);
    return typeof line === "number" && typeof column === "number" ? `see line ${line}, column ${column}` : NO_PLACE;
  }
}

/** Returns the values in an object, with the paths of their keys. Includes unknown keys, so that the schema rejects them. */
function leaves(
  value: unknown,
  keys: readonly ConfigKey[],
  path: readonly string[] = [],
): Omit<SourcedValue, "source">[] {
  const isGroup = keys.some((key) => key.path.length > path.length && path.every((part, at) => key.path[at] === part));
  return isGroup && isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, keys, [...path, key]))
    : [{ path, value }];
}
