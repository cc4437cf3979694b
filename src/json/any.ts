import { create, createRegistry, fromJson, toJson } from "@bufbuild/protobuf";
import {
  type Any,
  AnySchema,
  anyUnpack,
  BoolValueSchema,
  DurationSchema,
  EmptySchema,
  Int64ValueSchema,
  ListValueSchema,
  StringValueSchema,
  StructSchema,
  TimestampSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "../../gen/client/vega/vega_pb.js";
import type { TypedObject } from "../errors/index.js";
import { isJsonObject } from "./values.js";

/** The types that error details and extensions are decoded to; others are kept as they came. */
export const knownTypes = createRegistry(
  ErrorDetailSchema,
  BoolValueSchema,
  DurationSchema,
  EmptySchema,
  Int64ValueSchema,
  ListValueSchema,
  StringValueSchema,
  StructSchema,
  TimestampSchema,
  ValueSchema,
);

// An `Any` holds binary Protobuf, which cannot be made from the JSON of an unknown type: that JSON is kept here.
const jsonOfUnknown = new WeakMap<Any, TypedObject>();

/**
 * Whether a text is a type URL: it holds a slash, and a type's name after the last one (specification, 7).
 *
 * @param typeUrl the text of `@type`
 * @returns true for a type URL
 */
export function isTypeUrl(typeUrl: string): boolean {
  return /\/[^/]+$/.test(typeUrl);
}

/**
 * Turn an `Any` into an object.
 *
 * @param any the `Any`, from the wire or from {@link anyFromObject}
 * @returns the fields of a known type; an unknown type as it came, with binary content as base64 in `value`
 */
export function anyToObject(any: Any): TypedObject {
  const kept = jsonOfUnknown.get(any);
  if (kept !== undefined) {
    return kept;
  }
  const object = knownObject(any);
  return object ?? { "@type": any.typeUrl, value: Buffer.from(any.value).toString("base64") };
}

function knownObject(any: Any): TypedObject | undefined {
  try {
    if (anyUnpack(any, knownTypes) === undefined) {
      return undefined;
    }
    const json = toJson(AnySchema, any, { registry: knownTypes, alwaysEmitImplicit: true });
    return { "@type": any.typeUrl, ...(isJsonObject(json) ? json : {}) };
  } catch {
    return undefined; // The content does not fit its type, so it is kept as it came.
  }
}

/**
 * Make an `Any` of its JSON object, whose type may be unknown.
 *
 * @param object the JSON object
 * @returns the `Any`; that of an unknown type has no binary content, and {@link anyToObject} gives the object back
 */
export function anyFromObject(object: TypedObject): Any {
  try {
    const any = fromJson(AnySchema, { ...object }, { registry: knownTypes, ignoreUnknownFields: true });
    any.typeUrl = object["@type"]; // Protobuf writes a host of its own before the type's name.
    return any;
  } catch {
    const any = create(AnySchema, { typeUrl: object["@type"] });
    jsonOfUnknown.set(any, object);
    return any;
  }
}
