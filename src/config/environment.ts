import { RequestError } from "../errors/index.js";
import { absolute, type Given } from "./given.js";
import { type ConfigKey, VARIABLE_PREFIX } from "./keys.js";
import { nearest } from "./nearest.js";

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret of the environment that is no configuration: the seed that commands sign with. */
export const SEED_VARIABLE = `${VARIABLE_PREFIX}SEED`;

/** The values in the environment. */
export function fromEnvironment(environment: Environment, directory: string, keys: readonly ConfigKey[]): Given[] {
  const set = Object.entries(environment).flatMap(([name, text]) =>
    name.startsWith(VARIABLE_PREFIX) && name !== SEED_VARIABLE && text !== undefined && text !== ""
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
      advice: `Correct or unset it; what begins with ${VARIABLE_PREFIX} must be listed in docs/configuration.md.`,
    });
  }
  return set.flatMap(({ name, text }) => {
    const key = keys.find(({ variable }) => variable === name);
    const source = `environment variable ${name}`;
    return key === undefined ? [] : [{ path: key.path, value: absolute(fromText(text, key), key, directory), source }];
  });
}

/** The value that a text stands for; the text itself where it stands for none, for the schema to refuse. */
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
