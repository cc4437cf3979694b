import { resolve } from "node:path";
import { RequestError } from "../../base/errors/index.js";
import { type ConfigKey, meantKey, suggestionText, VARIABLE_PREFIX } from "./config-schema.js";

/** A value of the configuration, with its source. */
export interface SourcedValue {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: string;
  readonly kind: SourceKind;
  /** Finds the line of the value in its file. */
  readonly findLine?: () => number | undefined;
}

/**
 * The kind of a source: `own file` is in the user's configuration folder, `found file` in the working directory, not
 * named by the user, and `named file` is the one that the user named.
 */
export type SourceKind = "default" | "own file" | "found file" | "named file" | "environment" | "argument";

/** Makes the value of a key absolute, if it is the path of a file. */
export function absolutePath(value: unknown, key: ConfigKey | undefined, directory: string): unknown {
  return key?.kind === "file" && typeof value === "string" && value !== "" ? resolve(directory, value) : value;
}

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable with the seed that commands sign with. It is secret, and not a part of the configuration. */
export const SEED_VARIABLE = `${VARIABLE_PREFIX}SEED`;

/** The variable that names the configuration file. */
export const CONFIG_VARIABLE = `${VARIABLE_PREFIX}CONFIG`;

/** The variable that names a network of the user's own configuration file. */
export const USE_VARIABLE = `${VARIABLE_PREFIX}USE`;

/** The variables with the prefix that set no key of the configuration. */
const OTHER_VARIABLES: readonly string[] = [SEED_VARIABLE, CONFIG_VARIABLE, USE_VARIABLE];

/**
 * Reads the values in the environment. Empty variables count as unset.
 *
 * @throws {@link RequestError} if a variable with the prefix is unknown
 */
export function readEnvironment(
  environment: Environment,
  directory: string,
  keys: readonly ConfigKey[],
): SourcedValue[] {
  const set = Object.entries(environment).flatMap(([name, text]) =>
    name.startsWith(VARIABLE_PREFIX) && !OTHER_VARIABLES.includes(name) && text !== undefined && text !== ""
      ? [{ name, text }]
      : [],
  );
  const variables = keys.map(({ variable }) => variable.slice(VARIABLE_PREFIX.length));
  const unknown = set.map(({ name }) => name.slice(VARIABLE_PREFIX.length)).filter((name) => !variables.includes(name));
  if (unknown.length > 0) {
    const misses = unknown.flatMap((name) => {
      const meant = meantKey(name, variables);
      const variable = keys.find((key) => key.name === meant)?.variable ?? `${VARIABLE_PREFIX}${meant}`;
      return meant === undefined ? [] : [{ written: `${VARIABLE_PREFIX}${name}`, meant: variable }];
    });
    throw new RequestError(unknown.map((name) => `unknown environment variable ${VARIABLE_PREFIX}${name}`).join("; "), {
      errorCode: "TW_CONFIGURATION",
      advice: `${suggestionText(misses)}Correct or unset it. configuration.md in the documentation lists the variables that start with ${VARIABLE_PREFIX}.`,
    });
  }
  return set.flatMap(({ name, text }) => {
    const key = keys.find(({ variable }) => variable === name);
    const source = `environment variable ${name}`;
    return key === undefined
      ? []
      : [{ path: key.path, value: absolutePath(fromText(text, key), key, directory), source, kind: "environment" }];
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

export function oneOrAll(texts: readonly string[]): string | readonly string[] {
  const [only] = texts;
  return only !== undefined && texts.length === 1 ? only : texts;
}
