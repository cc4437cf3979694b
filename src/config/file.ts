import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "@humanwhocodes/momoa";
import { failedWith, fileError, quotedPath, readingAdvice } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { typeName } from "../errors/type-name.js";
import { currentUser, entryExposure, exposure, folderExposure } from "../file/exposure.js";
import { CONFIG_VARIABLE } from "./environment.js";
import { absolute, type Given, isObject } from "./given.js";
import type { ConfigKey } from "./keys.js";

/** The default configuration file, which is read if it exists and no other is named. */
export const CONFIG_FILE = "tradewire.config.json";

/** A configuration file that the user named. */
export interface NamedFile {
  readonly path: string;
  /** What named it, if it was an environment variable: the variable's name. */
  readonly variable?: string | undefined;
}

/**
 * Read the values in a configuration file: the named one, which must exist, or the default one if it exists.
 *
 * @param named the file that the user named, or undefined for {@link CONFIG_FILE}
 * @param directory the folder that the path is relative to
 * @param keys the keys that can be configured
 * @returns a value for each entry, with paths of files absolute; none if there is no file
 * @throws {@link RequestError} if the named file does not exist, a file does not hold a JSON object, or someone other than
 *   the user and root can change the default file
 * @throws {@link FileError} if the file exists and cannot be read
 */
export function fromFile(named: NamedFile | undefined, directory: string, keys: readonly ConfigKey[]): Given[] {
  const source = named?.path ?? CONFIG_FILE;
  const path = resolve(directory, source);
  const text = readText(path, named);
  if (text === undefined) {
    return [];
  }
  const config = parseJson(text, source);
  if (!isObject(config)) {
    throw new RequestError(`${source}: it is ${typeName(config)}, but must be an object`, {
      section: "requesterror-configuration",
      advice: 'Write an object of keys, such as {"grpc":{"url":"https://node.example"}}; see docs/configuration.md.',
    });
  }
  const isFound = named === undefined;
  return leaves(config, keys).map((leaf) => {
    const key = keys.find(({ name }) => name === leaf.path.join("."));
    return { path: leaf.path, value: absolute(leaf.value, key, dirname(path)), source, isFound };
  });
}

function readText(path: string, named: NamedFile | undefined): string | undefined {
  try {
    const bytes = named === undefined ? readFound(path) : readFileSync(path);
    return new TextDecoder().decode(bytes); // Unlike Node's "utf8", it takes off a byte order mark.
  } catch (reason) {
    if (reason instanceof RequestError) {
      throw reason;
    }
    if (!failedWith(reason, "ENOENT")) {
      throw fileError(reason, path, readingAdvice);
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

/** Reads the default file. The check and the read use one descriptor, so that no other file can take its place. */
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

/** Refuses a default file that someone other than the user and root can change or replace. */
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
    // The caught error is dropped: it quotes the text, which may hold a token.
    throw new RequestError(`${source}: it is not JSON: ${endsEarly ? "it ends too early" : placeOfMistake(text)}`, {
      section: "requesterror-configuration",
      advice: "Correct it there or just before; comments and trailing commas are not possible in JSON.",
    });
  }
}

const NO_PLACE = "its braces, commas and quotes do not fit together";

/** Where a text stops being JSON, if the parser can tell. */
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

/** The values in an object, by key. Unknown keys are included, so that the schema refuses them. */
function leaves(value: unknown, keys: readonly ConfigKey[], path: readonly string[] = []): Omit<Given, "source">[] {
  const isGroup = keys.some((key) => key.path.length > path.length && path.every((part, at) => key.path[at] === part));
  return isGroup && isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, keys, [...path, key]))
    : [{ path, value }];
}
