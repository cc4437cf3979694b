import type { DescEnum, DescField, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { requireDescriptor } from "../errors/check-kinds.js";
import { ProtocolError } from "../errors/index.js";

/**
 * The first number that stands in for an unknown name. Protobuf's JSON carries enum values by name. protobuf-es drops a
 * name that the definitions do not have, and the field gets its default, which is another value. Here such a name gets
 * a number of its own, from the end of the range that no definition uses. The number holds in this process only.
 */
const FIRST_STAND_IN = -(2 ** 31);
/** The most unknown names. No version of the definitions adds as many, so a server that sends more is not a node. */
const MAX_STAND_INS = 10_000;
const unknownNames: string[] = [];
const standIns = new Map<string, number>();

/**
 * Name an enum value as the node named it.
 *
 * A node of a newer version may send names that the definitions do not have. JSON carries them (REST, or gRPC with the
 * JSON codec): the field then holds a negative number that stands in for the name in this process, and this function
 * gives the name back. Protobuf's binary form carries the number only.
 *
 * @param desc the enum's descriptor, such as `StopOrder_StatusSchema`
 * @param value the number that a field holds
 * @returns the full name, such as `STATUS_PENDING`; the number in digits where it has none
 *
 * @example
 * import { vega } from "tradewire/api";
 *
 * enumName(vega.StopOrder_StatusSchema, stopOrder.status); // "STATUS_PENDING"
 */
export function enumName(desc: DescEnum, value: number): string {
  requireDescriptor(desc, "enum", "StopOrder_StatusSchema");
  return desc.value[value]?.name ?? unknownNames[value - FIRST_STAND_IN] ?? String(value);
}

/**
 * Give an enum value that came as a name which the definitions do not have a number; {@link enumName} gives the name
 * back.
 *
 * @param value the value in Protobuf's JSON
 * @param field the field, for errors
 * @param type the enum's descriptor
 * @returns the number in the place of such a name; any other value unchanged
 * @throws {@link ProtocolError} where a text cannot be the name of an enum value, or there are too many unknown ones
 */
export function numberUnknownName(value: JsonValue, field: DescField, type: DescEnum): JsonValue {
  return typeof value === "string" && !namesOf(type).has(value) ? standIn(value, field) : value;
}

const knownNames = new WeakMap<DescEnum, ReadonlySet<string>>();

function namesOf(type: DescEnum): ReadonlySet<string> {
  const names = knownNames.get(type) ?? new Set(type.values.map(({ name }) => name));
  knownNames.set(type, names);
  return names;
}

/**
 * Name an enum value that {@link numberUnknownName} has given a number.
 *
 * @param value the value in Protobuf's JSON
 * @returns the name in the place of such a number; any other value unchanged
 */
export function nameUnknownNumber(value: JsonValue): JsonValue {
  return typeof value === "number" ? (unknownNames[value - FIRST_STAND_IN] ?? value) : value;
}

function standIn(name: string, field: DescField): number {
  const known = standIns.get(name);
  if (known !== undefined) {
    return known;
  }
  if (!/^[A-Za-z_]\w{0,199}$/.test(name)) {
    throw new ProtocolError(
      `${field.name} is ${JSON.stringify(name.slice(0, 40))}, which is no name of an enum value`,
      {
        code: Code.Internal,
        advice: "The node's answer does not fit its definitions; report it to who runs the node.",
      },
    );
  }
  if (unknownNames.length >= MAX_STAND_INS) {
    throw new ProtocolError(`the node has sent more than ${MAX_STAND_INS} unknown names of enum values`, {
      code: Code.ResourceExhausted,
      advice: "Check that the URL is the node's own: no version of its definitions has that many.",
    });
  }
  const number = FIRST_STAND_IN + unknownNames.length;
  unknownNames.push(name);
  standIns.set(name, number);
  return number;
}
