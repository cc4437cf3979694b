import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";
import { absolute, type Given } from "./given.js";
import { type ConfigKey, VARIABLE_PREFIX } from "./keys.js";

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable of the seed that commands sign with: a secret, and not a part of the configuration. */
export const SEED_VARIABLE = `${VARIABLE_PREFIX}SEED`;

/** The variable that names the configuration file. */
export const CONFIG_VARIABLE = `${VARIABLE_PREFIX}CONFIG`;

/**
 * Read the values in the environment. Empty variables count as not set.
 *
 * @param environment the environment variables
 * @param directory the folder that relative paths of files are relative to
 * @param keys the keys that can be configured
 * @returns a value for each variable that is set, as the schema takes it
 * @throws {@link RequestError} where a variable with the prefix is not known
 */
export function fromEnvironment(environment: Environment, directory: string, keys: readonly ConfigKey[]): Given[] {
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
      const near = nearest(name, variables);
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
    return key === undefined ? [] : [{ path: key.path, value: absolute(fromText(text, key), key, directory), source }];
  });
}

/** The value that a text stands for. A text that stands for none comes back unchanged, and the schema refuses it. */
function fromText(text: string, { kind }: ConfigKey): unknown {
  switch (kind) {
    case "number":
      return /^\d+$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" || (text === "false" ? false : text);
    case "list":
      return text.split(",").map((item) => item.trim());
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
