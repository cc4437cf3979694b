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
import { ErrorDetailSchema } from "../../../gen/names/error-detail.js";
import type { TypedObject } from "../../base/errors/index.js";
import { isJsonObject } from "./json-values.js";

/** The types to which error details and extensions are decoded. Other types remain as received. */
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

// An `Any` contains binary Protobuf, into which the JSON of an unknown type cannot be converted. This stores that JSON.
const jsonOfUnknown = new WeakMap<Any, TypedObject>();

/** Returns whether a text is a type URL: it contains a slash, and a type name after the last one. */
export function isTypeUrl(typeUrl: string): boolean {
  return /\/[^/]+$/.test(typeUrl);
}

/** Converts an `Any` to a JSON object. */
export function anyToObject(any: Any): TypedObject {
  const stored = jsonOfUnknown.get(any);
  if (stored !== undefined) {
    return stored;
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
    return undefined; // The content does not fit its type, so it remains as received.
  }
}

/** Converts a JSON object to an `Any`. Its type may be unknown. */
export function anyFromObject(object: TypedObject): Any {
  try {
    const any = fromJson(AnySchema, { ...object }, { registry: knownTypes, ignoreUnknownFields: true });
    any.typeUrl = object["@type"]; // protobuf-es writes another host before the type name.
    return any;
  } catch {
    const any = create(AnySchema, { typeUrl: object["@type"] });
    jsonOfUnknown.set(any, object);
    return any;
  }
}
