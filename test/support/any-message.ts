import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import type { HttpBinding } from "../../src/wire/http-rule/http-rule.js";
import { isJsonObject } from "./json-object.js";

/** What messages may hold. */
interface Range {
  /** How deep messages stand in messages, at most. */
  readonly depth: number;
  /** Whether maps, lists of messages, values of free form and unpaired surrogates are left out: a query has no place. */
  readonly inQuery: boolean;
  /** Whether enum values may be numbers that the definitions do not have. */
  readonly unknownEnums: boolean;
  /** The texts. */
  readonly text: fc.Arbitrary<string>;
}

const int = (min: number, max: number) => fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, 0));
const long = (min: bigint, max: bigint) => fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n)).map(String);
const special = fc.constantFrom<JsonValue>("NaN", "Infinity", "-Infinity", "-0", 0);
const float = fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }).map(unsigned), special);
const double = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }).map(unsigned), special);
/** JSON has no other form for a negative zero. */
function unsigned(number: number): JsonValue {
  return Object.is(number, -0) ? "-0" : number;
}

/** Texts of all that a path or a query must write in another way. */
export const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."/%+ &=?#.:;,[]{}*~'\"\\"), maxLength: 6 }),
);

/** Generate messages in Protobuf's JSON, of any type, with every kind of field. */
export function anyMessage(desc: DescMessage, range: Partial<Range> = {}): fc.Arbitrary<JsonValue> {
  return message(desc, { depth: 3, inQuery: false, unknownEnums: true, text: anyText, ...range });
}

/** Generate requests that an HTTP binding has a place for: fields of its path have values that fit there. */
export function anyRequest(
  desc: DescMessage,
  { template, body }: HttpBinding,
  {
    inQuery = true,
    text = anyText,
    pathText,
    depth = 3,
    unknownEnums = true,
  }: Partial<Range & { pathText: fc.Arbitrary<string> }> = {},
): fc.Arbitrary<JsonObject> {
  const range = { depth, inQuery, unknownEnums, text };
  const hasQuery = inQuery && body !== "*";
  const whole = message(desc, { ...range, inQuery: hasQuery });
  const bodyField = desc.fields.find(({ name }) => name === body);
  const inBody = bodyField === undefined ? fc.constant(undefined) : fieldValue(bodyField, { ...range, inQuery: false });
  const piece = (pathText ?? text).filter((value) => !/^\.{0,2}$|\p{Surrogate}/u.test(value));
  const values = template.variables.map(({ fieldPath, start, end }): fc.Arbitrary<JsonValue> => {
    const field = fieldAt(desc, fieldPath);
    const segments = template.segments.slice(start, end);
    if (field?.scalar !== ScalarType.STRING) {
      return field === undefined ? fc.constant(null) : fieldValue(field, range).filter((value) => value !== "");
    }
    const isOne = segments.length === 1 && typeof segments[0] === "object" && segments[0].wildcard === "*";
    return isOne
      ? piece
      : fc
          .tuple(
            ...segments.map((s) => (typeof s === "string" ? fc.constant(s) : piece.map((p) => p.replaceAll("/", "_")))),
          )
          .map((parts) => parts.join("/"));
  });
  return fc.tuple(whole, inBody, ...values).map(([json, content, ...inPath]) => {
    const request: JsonObject = isJsonObject(json) ? { ...json } : {};
    if (bodyField !== undefined && content !== undefined) {
      put(desc, request, [bodyField.name], content);
    }
    template.variables.forEach(({ fieldPath }, index) => {
      put(desc, request, fieldPath, inPath[index] ?? null);
    });
    return request;
  });
}

function put(desc: DescMessage, json: JsonObject, [name, ...rest]: readonly string[], value: JsonValue): void {
  const field = desc.fields.find((one) => one.name === name);
  if (field === undefined) {
    return;
  }
  for (const other of field.oneof?.fields ?? []) {
    if (other !== field) {
      delete json[other.jsonName];
    }
  }
  if (rest.length === 0 || field.fieldKind !== "message") {
    json[field.jsonName] = value;
    return;
  }
  const inner = json[field.jsonName];
  const object = isJsonObject(inner) ? { ...inner } : {};
  put(field.message, object, rest, value);
  json[field.jsonName] = object;
}

function fieldAt(desc: DescMessage, [name, ...rest]: readonly string[]): DescField | undefined {
  const field = desc.fields.find((one) => one.name === name);
  return rest.length === 0 || field?.fieldKind !== "message" ? field : fieldAt(field.message, rest);
}

function message(desc: DescMessage, range: Range): fc.Arbitrary<JsonValue> {
  return known(desc, range) ?? ofFields(desc, range);
}

function ofFields(desc: DescMessage, range: Range): fc.Arbitrary<JsonObject> {
  const inner = { ...range, depth: range.depth - 1 };
  const fields = desc.fields.filter((field) => fits(field, range));
  const record = (of: readonly DescField[]) =>
    fc.record(Object.fromEntries(of.map((field) => [field.jsonName, fieldValue(field, inner)])), { requiredKeys: [] });
  const choices = desc.oneofs.map(({ fields: members }) =>
    fc.oneof(
      fc.constant({}),
      ...members
        .filter((field) => fields.includes(field))
        .map((field) => fieldValue(field, inner).map((value) => ({ [field.jsonName]: value }))),
    ),
  );
  return fc
    .tuple(record(fields.filter(({ oneof }) => oneof === undefined)), ...choices)
    .map((parts): JsonObject => Object.assign({}, ...parts));
}

const FREE_FORM = ["Any", "Struct", "Value", "ListValue"].map((name) => `google.protobuf.${name}`);

function fits(field: DescField, { depth, inQuery }: Range): boolean {
  const type = field.message?.typeName ?? "";
  const isPlain = type.startsWith("google.protobuf.") && !FREE_FORM.includes(type) && type !== "google.protobuf.Empty";
  if (field.message !== undefined && !isPlain && depth <= 0) {
    return false;
  }
  const isListOfMessages = field.fieldKind === "list" && field.message !== undefined && !isPlain;
  return !(inQuery && (field.fieldKind === "map" || isListOfMessages || FREE_FORM.includes(type)));
}

function fieldValue(field: DescField, range: Range): fc.Arbitrary<JsonValue> {
  switch (field.fieldKind) {
    case "list":
      return fc.array(item(field, range), { maxLength: 3 });
    case "map":
      return fc
        .array(fc.tuple(scalar(field.mapKey, range).map(String), item(field, range)), { maxLength: 3 })
        .map((entries) => Object.fromEntries(entries.filter(([key]) => key !== "__proto__")));
    default:
      return item(field, range);
  }
}

function item(field: DescField, range: Range): fc.Arbitrary<JsonValue> {
  if (field.message !== undefined) {
    return message(field.message, range);
  }
  if (field.enum !== undefined) {
    const { typeName, values } = field.enum;
    const names = fc.constantFrom(...values.map(({ name }) => name));
    const isNull = typeName === "google.protobuf.NullValue";
    return isNull || !range.unknownEnums ? names : fc.oneof(names, fc.constantFrom(99, -7));
  }
  return scalar(field.scalar ?? ScalarType.BOOL, range);
}

function scalar(type: ScalarType, { text }: Range): fc.Arbitrary<JsonValue> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 }).map((value) => Buffer.from(value).toString("base64"));
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.FLOAT:
      return float;
    case ScalarType.DOUBLE:
      return double;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return int(0, 2 ** 32 - 1);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int(-(2 ** 31), 2 ** 31 - 1);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return long(0n, 2n ** 64n - 1n);
    default:
      return long(-(2n ** 63n), 2n ** 63n - 1n);
  }
}

/** The types whose JSON is one of their own. */
function known(desc: DescMessage, range: Range): fc.Arbitrary<JsonValue> | undefined {
  const [field] = desc.fields;
  switch (desc.typeName.replace(/^google\.protobuf\./, "~")) {
    case "~Timestamp":
      return fc
        .tuple(
          fc.date({
            min: new Date("0001-01-01T00:00:00Z"),
            max: new Date("9999-12-31T23:59:59Z"),
            noInvalidDate: true,
          }),
          int(0, 999_999),
        )
        .map(([date, nanos]) => date.toISOString().replace("Z", `${String(nanos).padStart(6, "0")}Z`));
    case "~Duration":
      return fc
        .tuple(fc.constantFrom("", "-"), int(0, 315_576_000_000), int(0, 999_999_999))
        .map(([sign, seconds, nanos]) => `${sign}${seconds}.${String(nanos).padStart(9, "0")}s`);
    case "~FieldMask":
      return fc
        .array(fc.constantFrom("a", "fooBar", "b.cD", "x1.y2.z3"), { maxLength: 3 })
        .map((paths) => paths.join(","));
    case "~Value":
      return value;
    case "~ListValue":
      return fc.array(value, { maxLength: 3 });
    case "~Struct":
      return fc.dictionary(
        fc.string({ maxLength: 4 }).filter((key) => key !== "__proto__"),
        value,
        { maxKeys: 3, noNullPrototype: true },
      );
    case "~Any":
      return fc
        .string({ maxLength: 5 })
        .map((text) => ({ "@type": "type.googleapis.com/google.protobuf.StringValue", value: text }));
    default:
      return /^google\.protobuf\.\w+Value$/.test(desc.typeName) && field !== undefined ? item(field, range) : undefined;
  }
}

const value: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 2 })
  .map((any): string => JSON.stringify(any))
  .filter((json) => !json.includes("__proto__"))
  .map((json): JsonValue => JSON.parse(json));
