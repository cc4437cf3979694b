import type * as z from "zod";
import { nearest } from "../errors/nearest.js";
import { typeName } from "../errors/type-name.js";
import { type ConfigKey, valueAt } from "./keys.js";

/** Where the values of a configuration come from. */
export interface ConfigPlaces {
  /** A path, after the source of its value, such as `tradewire.config.json: grpc.windowBytes`. */
  at(path: readonly PropertyKey[]): string;
  /** The source of a key's value, such as `--transport`; undefined where there is only one source. */
  sourceOf(name: string): string | undefined;
}

/** The places in a configuration that has a single source. */
export const onePlace: ConfigPlaces = {
  at: (path) => path.join(".") || "the configuration",
  sourceOf: () => undefined,
};

/**
 * Describe each issue of the schema: where it is, what was found and what is possible. The texts never hold a secret.
 *
 * @param issues the issues, as Zod reports them
 * @param input the configuration that was checked
 * @param keys the keys that can be configured
 * @param places where the configuration's values come from
 * @returns a text for each issue, without a full stop
 */
export function issueTexts(
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  keys: readonly ConfigKey[],
  places: ConfigPlaces,
): string[] {
  return issues.flatMap((issue) => {
    const { path } = issue;
    const place = places.at(path);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => unknownKey([...path, key], keys, places));
    }
    if (issue.code === "invalid_key") {
      return [`${places.at(path.slice(0, -1))} ${issue.issues[0]?.message}`];
    }
    if (issue.code === "custom" && issue.params !== undefined) {
      return [`${place} ${issue.message}${reasons(issue.params["because"], places)}`];
    }
    return [`${place} ${found(valueAt(input, path), keyAt(path, keys))}, but ${issue.message}`];
  });
}

function unknownKey(path: readonly PropertyKey[], keys: readonly ConfigKey[], places: ConfigPlaces): string {
  const groups = new Set(keys.map((key) => key.path.slice(0, -1).join(".")));
  const near = nearest(path.join("."), [...keys.map(({ name }) => name), ...groups]);
  return `${places.at(path)} is not known${near === undefined ? "" : `; the nearest is ${near}`}`;
}

/** The key that a path leads to, or into. */
function keyAt(path: readonly PropertyKey[], keys: readonly ConfigKey[]): ConfigKey | undefined {
  return keys.find((key) => key.path.every((part, index) => path[index] === part));
}

function found(value: unknown, key: ConfigKey | undefined): string {
  if (value === undefined) {
    return "is missing";
  }
  // A header may hold a token, and a wrong path may be the private key that belongs in the file.
  const isShown = key !== undefined && key.kind !== "headers" && key.kind !== "file";
  if (isShown && typeof value === "string") {
    return `is ${JSON.stringify(withoutSecrets(value).slice(0, 100))}`;
  }
  return `is ${isShown && (typeof value === "number" || typeof value === "boolean") ? value : typeName(value)}`;
}

/** A text without the parts of a URL that may be secret: the password in front of the host, and the query. */
function withoutSecrets(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, "$1***@").replace(/[?#].*$/s, "?***");
}

function reasons(because: unknown, { sourceOf }: ConfigPlaces): string {
  const names = Array.isArray(because) ? because.map(String) : [];
  const texts = names.flatMap((name) => {
    const source = sourceOf(name);
    return source === undefined
      ? []
      : [source === "default" ? `${name} has its default` : `${name} comes from ${source}`];
  });
  return texts.length === 0 ? "" : ` (${texts.join(", ")})`;
}
