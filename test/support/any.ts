import { create, createRegistry, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  type Any,
  AnySchema,
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
import type { TypedObject } from "tradewire";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";

/** The types that error details and extensions have in tests. */
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

/** An `Any` as an object: the fields of a known type; the bytes of another one as base64, in `value`. */
export function anyToObject(any: Any): TypedObject {
  const value = Buffer.from(any.value).toString("base64");
  const fields = isKnown(any.typeUrl) ? toJson(AnySchema, any, { registry: knownTypes }) : { value };
  return { ...(fields as JsonObject), "@type": any.typeUrl };
}

/** The `Any` of an object, as {@link anyToObject} makes it. */
export function anyFromObject(object: TypedObject): Any {
  const { "@type": typeUrl, value } = object;
  return isKnown(typeUrl)
    ? fromJson(AnySchema, { ...object }, { registry: knownTypes })
    : create(AnySchema, { typeUrl, value: Buffer.from(typeof value === "string" ? value : "", "base64") });
}

function isKnown(typeUrl: string): boolean {
  return knownTypes.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1)) !== undefined;
}
