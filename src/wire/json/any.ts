import {
  clone,
  create,
  createRegistry,
  type DescMessage,
  fromJson,
  isMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import {
  type Any,
  AnySchema,
  anyUnpack,
  BoolValueSchema,
  DurationSchema,
  EmptySchema,
  hasCustomJsonRepresentation,
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
import { decodeUnknownEnumName, encodeUnknownEnumName, replaceValues } from "./protobuf-json.js";

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

/** Converts an `Any` to a JSON object: of an unknown type, to its bytes as base64 in `value`. */
export function anyToObject(any: Any, registry: Registry = knownTypes): TypedObject {
  const stored = jsonOfUnknown.get(any);
  if (stored !== undefined) {
    return stored;
  }
  const object = knownObject(any, registry);
  return object ?? { "@type": any.typeUrl, value: Buffer.from(any.value).toString("base64") };
}

function knownObject(any: Any, registry: Registry): TypedObject | undefined {
  try {
    const content = anyUnpack(any, registry);
    const desc = content && registry.getMessage(content.$typeName);
    if (content === undefined || desc === undefined) {
      return undefined;
    }
    const json = replaceValues(desc, toWholeJson(desc, content, registry), registry, { enums: decodeUnknownEnumName });
    const fields = isJsonObject(json) && !hasCustomJsonRepresentation(desc) ? json : { value: json };
    return { "@type": any.typeUrl, ...fields };
  } catch {
    return undefined; // The content does not fit its type, so it remains as received.
  }
}

/** Converts a JSON object to an `Any`. Its type may be unknown. */
export function anyFromObject(object: TypedObject, registry: Registry = knownTypes): Any {
  try {
    const json = replaceValues(AnySchema, structuredClone({ ...object }), registry, { enums: encodeUnknownEnumName });
    const any = fromJson(AnySchema, json, { registry, ignoreUnknownFields: true });
    any.typeUrl = object["@type"]; // protobuf-es writes another host before the type name.
    return any;
  } catch {
    const any = create(AnySchema, { typeUrl: object["@type"] });
    jsonOfUnknown.set(any, object);
    return any;
  }
}

/**
 * Converts a message to JSON with all fields. protobuf-es throws on an `Any` of an unknown type; here, {@link anyToObject} writes it.
 *
 * @throws Error if a value has no form in JSON, such as a time after the year 9999
 */
export function toWholeJson<O extends DescMessage>(desc: O, message: MessageShape<O>, registry: Registry): JsonValue {
  const options = { registry, alwaysEmitImplicit: true };
  try {
    return toJson(desc, message, options);
  } catch {
    const copy = clone(desc, message);
    for (const any of anysIn(reflect(desc, copy))) {
      any.typeUrl = ""; // protobuf-es writes such an `Any` as {}.
    }
    const anys = anysIn(reflect(desc, message));
    const onAny = (json: JsonObject) => {
      const any = anys.shift();
      Object.assign(json, any?.typeUrl && anyToObject(any, registry));
    };
    return replaceValues(desc, toJson(desc, copy, options), registry, { onAny });
  }
}

/** Returns each `Any` in a message, in the order of protobuf-es's JSON. */
function anysIn(message: ReflectMessage): Any[] {
  if (isMessage(message.message, AnySchema)) {
    return [message.message];
  }
  return message.sortedFields.flatMap((field) => {
    if (field.message === undefined || !message.isSet(field)) {
      return [];
    }
    const values: Iterable<unknown> =
      field.fieldKind === "message" ? [message.get(field)] : message.get(field).values();
    return [...values].flatMap((item) => (isReflectMessage(item) ? anysIn(item) : []));
  });
}
