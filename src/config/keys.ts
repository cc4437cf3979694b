import * as z from "zod";

/** One value that can be configured. */
export interface ConfigKey {
  /** Its path in the configuration, such as `["grpc", "windowBytes"]`. */
  readonly path: readonly string[];
  /** The path with dots, such as `grpc.windowBytes`. */
  readonly name: string;
  /** The environment variable that sets it, such as `TRADEWIRE_GRPC_WINDOW_BYTES`. */
  readonly variable: string;
  /** The form of its value as text. Values of headers may be secret. */
  readonly kind: "text" | "file" | "number" | "boolean" | "list" | "headers";
  /** What its value has to fit, without what says that it may be left out. */
  readonly schema: unknown;
}

/** The prefix of all environment variables. */
export const VARIABLE_PREFIX = "TRADEWIRE_";

/**
 * List the keys of a schema: all its entries that are not objects of further keys.
 *
 * @param schema a Zod schema
 * @param path the path of the schema in the whole configuration
 * @returns the keys, in the schema's order
 */
export function schemaKeys(schema: unknown, path: readonly string[] = []): ConfigKey[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([key, value]) => schemaKeys(value, [...path, key]));
  }
  const words = path.map((key) => key.replace(/(?=[A-Z])/g, "_").toUpperCase());
  const variable = `${VARIABLE_PREFIX}${words.join("_")}`;
  return [{ path, name: path.join("."), variable, kind: kindOf(inner), schema: inner }];
}

/**
 * Read the value at a path of a configuration that may not fit the schema.
 *
 * @param config any value
 * @param path the keys that lead to the value
 * @returns the value, or undefined where the path leads to none
 */
export function valueAt(config: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined,
    config,
  );
}

function unwrap(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
    ? unwrap(schema.unwrap())
    : schema;
}

function kindOf(schema: unknown): ConfigKey["kind"] {
  if (schema instanceof z.ZodNumber) {
    return "number";
  }
  if (schema instanceof z.ZodBoolean) {
    return "boolean";
  }
  if (schema instanceof z.ZodArray) {
    return "list";
  }
  if (schema instanceof z.ZodRecord) {
    return "headers";
  }
  return schema instanceof z.ZodString && schema.meta()?.["file"] === true ? "file" : "text";
}
