import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "@humanwhocodes/momoa";
import { fileError } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { absolute, type Given, isObject } from "./given.js";
import { typeName } from "./issues.js";
import type { ConfigKey } from "./keys.js";

/** The file that is read where it exists and no other is named. */
export const CONFIG_FILE = "tradewire.config.json";

/** The values in a configuration file: the one that is named, or the usual one, where it exists. */
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
    if (!(reason instanceof Error && "code" in reason && reason.code === "ENOENT")) {
      throw fileError(reason, path);
    }
    if (named === undefined) {
      return undefined;
    }
    throw new RequestError(`the configuration file ${JSON.stringify(named)} does not exist`, {
      advice: `Correct its path, or leave it out: then ${CONFIG_FILE} is read, where it exists.`,
    });
  }
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    const endsEarly = reason instanceof Error && reason.message.includes("end of JSON input");
    // The error that was caught quotes the text, which may hold a token: it goes no further.
    throw new RequestError(`${source}: it is not JSON: ${endsEarly ? "it ends too early" : placeOfMistake(text)}`, {
      advice: "Correct it there or just before; comments and trailing commas are not possible in JSON.",
    });
  }
}

const NO_PLACE = "its braces, commas and quotes do not fit together";

/** Where a text stops to be JSON, as far as that can be told. */
function placeOfMistake(text: string): string {
  try {
    parse(text, { mode: "json" });
    // It lets line breaks in texts pass, which JSON has to escape.
    const line = text.split("\n").findIndex((each) => each.replace(/\\./g, "").split('"').length % 2 === 0);
    return line === -1 ? NO_PLACE : `a text is not closed on line ${line + 1}`;
  } catch (reason) {
    const { line, column } = Object(reason);
    return typeof line === "number" && typeof column === "number" ? `see line ${line}, column ${column}` : NO_PLACE;
  }
}

/** The values of the keys in an object; what is no key is given too, for the schema to refuse. */
function leaves(value: unknown, keys: readonly ConfigKey[], path: readonly string[] = []): Omit<Given, "source">[] {
  const isGroup = keys.some((key) => key.path.length > path.length && path.every((part, at) => key.path[at] === part));
  return isGroup && isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, keys, [...path, key]))
    : [{ path, value }];
}
