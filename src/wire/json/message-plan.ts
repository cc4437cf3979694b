import { create, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { Edition, hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { elementsOf } from "./answer-size.js";
import { enumNumbers } from "./protobuf-json.js";

/** A message, by the names of its members. */
export type Members = Record<string, unknown>;

/** How the messages of a type are decoded. */
export interface Plan {
  readonly name: string;
  /** A message with nothing but defaults. */
  readonly zero: Members;
  /** The members whose default is an object, which messages must not share. */
  readonly bytes: readonly string[];
  readonly lists: readonly string[];
  readonly maps: readonly string[];
  readonly oneofs: readonly string[];
  /** The fields, by their numbers. */
  readonly fields: readonly (PlannedField | undefined)[];
  /** The fields, by each of their names in JSON. */
  readonly byName: ReadonlyMap<string, PlannedField>;
  /** The number of elements that a message counts as, without its contents. */
  readonly elements: number;
}

export interface PlannedField {
  readonly desc: DescField;
  readonly name: string;
  /** The name of its oneof, if it belongs to one. */
  readonly oneof: string | undefined;
  readonly kind: DescField["fieldKind"];
  readonly scalar: ScalarType;
  /** The type of its keys, if it is a map. */
  readonly mapKey: ScalarType;
  /** The numbers of its values by their names, if it holds an enum. */
  readonly enums: ReadonlyMap<string, number> | undefined;
  /** Returns the plan of its messages; `undefined` if it holds a scalar or an enum. */
  readonly message: (() => Plan) | undefined;
}

const plans = new WeakMap<DescMessage, Plan>();
const plainForms = new WeakMap<DescMessage, { readonly binary: boolean; readonly json: boolean }>();

/**
 * Returns in which of its forms a type is plain: in binary, if neither it nor a type of its fields has fields that proto3 does
 * not know, or messages that protobuf-es represents in a form of its own; in JSON, if none has a form of its own there either.
 */
export function plainFormsOf(desc: DescMessage): { readonly binary: boolean; readonly json: boolean } {
  const known = plainForms.get(desc);
  if (known !== undefined) {
    return known;
  }
  const types = new Set([desc]);
  for (const type of types) {
    for (const { message } of type.fields) {
      message && types.add(message);
    }
  }
  const all = [...types];
  const fields = all.flatMap((type) => type.fields);
  const isProto3 = all.every(({ file }) => file.edition === Edition.EDITION_PROTO3);
  const binary = isProto3 && fields.every(isPlainField);
  const hasNull = fields.some((field) => field.enum?.typeName === NULL_VALUE);
  const forms = { binary, json: binary && !hasNull && !all.some(hasCustomJsonRepresentation) };
  plainForms.set(desc, forms);
  return forms;
}

function isPlainField(field: DescField): boolean {
  if (field.message !== undefined) {
    const isBareStruct = field.message.typeName === STRUCT && field.parent.typeName !== VALUE;
    return !isBareStruct && !isWrapperDesc(field.message);
  }
  return field.enum?.open !== false && !("longAsString" in field && field.longAsString);
}

const STRUCT = "google.protobuf.Struct";
const VALUE = "google.protobuf.Value";
const NULL_VALUE = "google.protobuf.NullValue";

export function planOf(desc: DescMessage): Plan {
  const known = plans.get(desc);
  if (known !== undefined) {
    return known;
  }
  const zero: Members = { ...create(desc) };
  const fields: PlannedField[] = [];
  const byName = new Map<string, PlannedField>();
  for (const field of desc.fields) {
    const { message } = field;
    const planned = {
      desc: field,
      name: field.localName,
      oneof: field.oneof?.localName,
      kind: field.fieldKind,
      scalar: field.scalar ?? ScalarType.INT32,
      mapKey: field.fieldKind === "map" ? field.mapKey : ScalarType.STRING,
      enums: field.enum && enumNumbers(field.enum),
      message: message && (() => planOf(message)),
    };
    fields[field.number] = planned;
    byName.set(field.jsonName, planned).set(field.name, planned);
  }
  const bytes = Object.keys(zero).filter((name) => zero[name] instanceof Uint8Array);
  const named = (kind: string) => desc.fields.filter((field) => field.fieldKind === kind).map(localNameOf);
  const names = { lists: named("list"), maps: named("map"), oneofs: desc.oneofs.map(localNameOf) };
  const plan = { name: desc.typeName, zero, bytes, ...names, fields, byName, elements: elementsOf(desc) };
  plans.set(desc, plan);
  return plan;
}

const localNameOf = ({ localName }: { readonly localName: string }) => localName;

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

export function emptyMessage({ zero, bytes, lists, maps, oneofs }: Plan): Members {
  const message = { ...zero };
  for (const name of bytes) {
    message[name] = new Uint8Array();
  }
  for (const name of lists) {
    message[name] = [];
  }
  for (const name of maps) {
    message[name] = {};
  }
  for (const name of oneofs) {
    message[name] = { case: undefined };
  }
  return message;
}
