import { z } from "zod";

/** One value that can be configured. */
export interface ConfigKey {
  /** Its path in the configuration, such as `["grpc", "windowBytes"]`. */
  readonly path: readonly string[];
  /** The path with dots, such as `grpc.windowBytes`. */
  readonly name: string;
  /** The environment variable that sets it, such as `TRADEWIRE_GRPC_WINDOW_BYTES`. */
  readonly variable: string;
  /** How a text stands for it, and whether it may be shown: headers may not. */
  readonly kind: "text" | "file" | "number" | "boolean" | "list" | "headers";
}

/** What the names of all environment variables begin with. */
export const VARIABLE_PREFIX = "TRADEWIRE_";

/** The keys of a schema: everything in it that is not an object of further keys. */
export function schemaKeys(schema: unknown, path: readonly string[] = []): ConfigKey[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([key, value]) => schemaKeys(value, [...path, key]));
  }
  const words = path.map((key) => key.replace(/(?=[A-Z])/g, "_").toUpperCase());
  return [{ path, name: path.join("."), variable: `${VARIABLE_PREFIX}${words.join("_")}`, kind: kindOf(inner) }];
}

/** The value at a path, whatever the configuration looks like. */
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
