import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc, { type GeneratorValue } from "fast-check";

/** The greatest depth of messages that get fields. */
const MAX_DEPTH = 4;

/**
 * Write a message of random fields in any order, as a sender may: several times, packed or not, with map entries that lack
 * their key or value, and with fields that the definition lacks.
 */
export function randomWire(desc: DescMessage, draw: GeneratorValue, depth = 0): Uint8Array {
  const writer = new BinaryWriter();
  const count = depth > MAX_DEPTH ? 0 : draw(fc.integer, { min: 0, max: 7 });
  for (let number = 0; number < count; number += 1) {
    const at = draw(fc.integer, { min: 0, max: desc.fields.length });
    const field = desc.fields[at];
    if (field === undefined) {
      writeUnknown(writer, desc, draw(fc.integer, { min: 0, max: 3 }));
    } else {
      writeField(writer, field, draw, depth);
    }
  }
  return writer.finish();
}

function writeField(writer: BinaryWriter, field: DescField, draw: GeneratorValue, depth: number): void {
  const chance = () => draw(fc.integer, { min: 0, max: 3 });
  const message = (desc: DescMessage) => randomWire(desc, draw, depth + 1);
  const scalar = (to: BinaryWriter, type: ScalarType) => writeScalar(to, type, draw(fc.integer, { min: 0, max: 11 }));
  const type = field.scalar ?? ScalarType.INT32;
  if (field.fieldKind === "map") {
    const entry = new BinaryWriter();
    if (chance() > 0) {
      scalar(entry.tag(1, wireTypeOf(field.mapKey)), field.mapKey);
    }
    if (chance() > 0 && field.message !== undefined) {
      entry.tag(2, WireType.LengthDelimited).bytes(message(field.message));
    } else if (chance() > 0 && field.message === undefined) {
      scalar(entry.tag(2, wireTypeOf(type)), type);
    }
    writer.tag(field.number, WireType.LengthDelimited).bytes(entry.finish());
  } else if (field.message !== undefined) {
    if ("delimitedEncoding" in field && field.delimitedEncoding) {
      const content = message(field.message);
      writer.tag(field.number, WireType.StartGroup).raw(content).tag(field.number, WireType.EndGroup);
    } else {
      writer.tag(field.number, WireType.LengthDelimited).bytes(message(field.message));
    }
  } else if (field.fieldKind === "list" && wireTypeOf(type) !== WireType.LengthDelimited && chance() > 1) {
    const packed = new BinaryWriter();
    for (let left = chance(); left > 0; left -= 1) {
      scalar(packed, type);
    }
    writer.tag(field.number, WireType.LengthDelimited).bytes(packed.finish());
  } else {
    scalar(writer.tag(field.number, wireTypeOf(type)), type);
  }
}

/** Write a field that a type lacks. */
function writeUnknown(writer: BinaryWriter, { fields }: DescMessage, form: number): void {
  const number = Math.max(0, ...fields.map((field) => field.number)) + 1 + form * 3000;
  switch (form) {
    case 0:
      writer.tag(number, WireType.Varint).uint64(2n ** 64n - 1n);
      break;
    case 1:
      writer.tag(number, WireType.LengthDelimited).string("unknown");
      break;
    case 2:
      writer.tag(number, WireType.Bit64).fixed64(7n);
      break;
    default:
      writer.tag(number, WireType.StartGroup).tag(5, WireType.Varint).uint32(300).tag(number, WireType.EndGroup);
  }
}

const TEXTS = ["", "a", "null", "toString", "ü€😀", "\uFFFD", "x".repeat(200)];
/** Numbers around which the number of bytes or the sign changes. */
const INTEGERS = [
  0n,
  1n,
  127n,
  128n,
  2n ** 28n - 1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 35n,
  2n ** 53n,
  2n ** 63n,
  -1n,
  -(2n ** 31n),
];
const NUMBERS = [0, -0, 1.5, -2, 0.1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

function writeScalar(writer: BinaryWriter, type: ScalarType, choice: number): void {
  const integer = INTEGERS[choice % INTEGERS.length] ?? 0n;
  const [signed, unsigned] = [Number(BigInt.asIntN(32, integer)), Number(BigInt.asUintN(32, integer))];
  const [signedLong, unsignedLong] = [BigInt.asIntN(64, integer), BigInt.asUintN(64, integer)];
  const text = TEXTS[choice % TEXTS.length] ?? "";
  const number = NUMBERS[choice % NUMBERS.length] ?? 0;
  const write: Record<ScalarType, () => unknown> = {
    [ScalarType.BOOL]: () => writer.bool(choice % 2 === 0),
    [ScalarType.STRING]: () => writer.string(text),
    [ScalarType.BYTES]: () => writer.bytes(Buffer.from(text)),
    [ScalarType.INT32]: () => writer.int32(signed),
    [ScalarType.SINT32]: () => writer.sint32(signed),
    [ScalarType.SFIXED32]: () => writer.sfixed32(signed),
    [ScalarType.UINT32]: () => writer.uint32(unsigned),
    [ScalarType.FIXED32]: () => writer.fixed32(unsigned),
    [ScalarType.INT64]: () => writer.int64(signedLong),
    [ScalarType.SINT64]: () => writer.sint64(signedLong),
    [ScalarType.SFIXED64]: () => writer.sfixed64(signedLong),
    [ScalarType.UINT64]: () => writer.uint64(unsignedLong),
    [ScalarType.FIXED64]: () => writer.fixed64(unsignedLong),
    [ScalarType.FLOAT]: () => writer.float(number),
    [ScalarType.DOUBLE]: () => writer.double(number),
  };
  write[type]();
}

function wireTypeOf(type: ScalarType): WireType {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}
