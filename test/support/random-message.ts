import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";

/** A message as a plain object: fields by name, members of a oneof beside the others, 64-bit numbers as `bigint`. */
export type PlainMessage = { readonly [field: string]: unknown };

/**
 * Generate random messages with fields at every level. The network's own library does not distinguish a field at its
 * default from a field that is not set, and it truncates text outside ASCII. So no field is at its default, and texts
 * are ASCII. Fields of bytes are left out.
 */
export function randomMessage(
  desc: DescMessage,
  takes: (member: DescField) => boolean = () => true,
): fc.Arbitrary<PlainMessage> {
  const alone = desc.fields.filter(({ oneof, scalar }) => oneof === undefined && scalar !== ScalarType.BYTES);
  const fields = fc.record(Object.fromEntries(alone.map((field) => [field.jsonName, randomField(field)])), {
    requiredKeys: [],
  });
  const choices = desc.oneofs.map((oneof) =>
    fc.oneof(
      fc.constant({}),
      ...oneof.fields.filter(takes).map((field) => randomField(field).map((value) => ({ [field.jsonName]: value }))),
    ),
  );
  return fc.tuple(fields, ...choices).map((parts) => Object.assign({}, ...parts));
}

/** Convert a plain message to Protobuf's JSON. */
export function plainToJson(message: PlainMessage): JsonValue {
  return JSON.parse(
    JSON.stringify(message, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
}

function randomField(field: DescField): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "message":
      return randomMessage(field.message);
    case "enum":
      return randomEnum(field.enum);
    case "scalar":
      return randomScalar(field.scalar);
    case "list": {
      const item =
        field.listKind === "message"
          ? randomMessage(field.message)
          : field.listKind === "enum"
            ? randomEnum(field.enum)
            : randomScalar(field.scalar);
      return fc.array(item, { minLength: 1, maxLength: 3 });
    }
    default:
      throw new Error(`no random values for ${String(field)}`);
  }
}

function randomEnum({ values }: DescEnum): fc.Arbitrary<number> {
  return fc.constantFrom(...values.map(({ number }) => number).filter((number) => number !== 0));
}

function randomScalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.BOOL:
      return fc.constant(true);
    case ScalarType.STRING:
      return fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 });
    case ScalarType.UINT32:
      return fc.integer({ min: 1, max: 2 ** 32 - 1 });
    case ScalarType.INT32:
      return fc.integer({ min: 1, max: 2 ** 31 - 1 });
    case ScalarType.UINT64:
      return fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
    case ScalarType.INT64:
      return fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
    default:
      throw new Error(`no random values of scalar type ${ScalarType[type]}`);
  }
}
