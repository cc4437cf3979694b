import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "@humanwhocodes/momoa";
import { failedWith, fileError, quotedPath, readingAdvice } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { typeName } from "../errors/type-name.js";
import { absolute, type Given, isObject } from "./given.js";
import type { ConfigKey } from "./keys.js";

/** The default configuration file, which is read if it exists and no other is named. */
export const CONFIG_FILE = "tradewire.config.json";

/**
 * Read the values in a configuration file: the named one, which must exist, or the default one if it exists.
 *
 * @param named the file's path, or undefined for {@link CONFIG_FILE}
 * @param directory the folder that the path is relative to
 * @param keys the keys that can be configured
 * @returns a value for each entry, with paths of files absolute; none where there is no file
 * @throws {@link RequestError} where the named file does not exist, or a file does not hold a JSON object
 * @throws {@link FileError} where the file exists and cannot be read
 */
export function fromFile(named: string | undefined, directory: string, keys: readonly ConfigKey[]): Given[] {
  const source = named ?? CONFIG_FILE;
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
  return leaves(config, keys).map((leaf) => {
    const key = keys.find(({ name }) => name === leaf.path.join("."));
    return { path: leaf.path, value: absolute(leaf.value, key, dirname(path)), source };
  });
}

function readText(path: string, named: string | undefined): string | undefined {
  try {
    return new TextDecoder().decode(readFileSync(path)); // Unlike Node's "utf8", it takes off a byte order mark.
  } catch (reason) {
    if (!failedWith(reason, "ENOENT")) {
      throw fileError(reason, path, readingAdvice);
    }
    if (named === undefined) {
      return undefined;
    }
    throw new RequestError(`the configuration file ${quotedPath(named)} does not exist`, {
      section: "requesterror-configuration",
      advice: `Correct its path, or leave it out: then ${CONFIG_FILE} is read, where it exists.`,
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
