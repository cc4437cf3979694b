import type { DescEnum } from "@bufbuild/protobuf";
import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";
import { quoted } from "../errors/quoted.js";
import { typeName } from "../errors/type-name.js";

/** The numbers of an enum's values by their names, in full and without the prefix. */
const numbers = new WeakMap<DescEnum, ReadonlyMap<string, number>>();

/**
 * Find the number of an enum value. A number that the definitions lack is accepted, because a newer node may know it.
 *
 * @param desc the enum
 * @param value the number, or the name in full (`SIDE_BUY`) or without its prefix (`BUY`)
 * @param path what has the value, for errors
 * @returns the number
 * @throws {@link RequestError} where the name is unknown, or the number is no whole one from 0 to 2^31 - 1
 */
export function enumNumber(desc: DescEnum, value: unknown, path: string | (() => string)): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31) {
    return value;
  }
  const number = typeof value === "string" ? numbersOf(desc).get(value) : undefined;
  if (number === undefined) {
    throw noValue(desc, value, typeof path === "string" ? path : path());
  }
  return number;
}

function numbersOf(desc: DescEnum): ReadonlyMap<string, number> {
  let known = numbers.get(desc);
  if (known === undefined) {
    known = new Map(
      desc.values.flatMap(({ name, localName, number }) => [
        [name, number],
        [localName, number],
      ]),
    );
    numbers.set(desc, known);
  }
  return known;
}

function noValue(desc: DescEnum, value: unknown, path: string): RequestError {
  const names = desc.values.map(({ name }) => name);
  const near = typeof value === "string" ? nearest(value, [...numbersOf(desc).keys()]) : undefined;
  const shown = typeof value === "string" ? quoted(value) : typeof value === "number" ? value : typeName(value);
  return new RequestError(`${path} is ${shown}, which is no value of ${desc.typeName}`, {
    advice: `${near === undefined ? "" : `Did you mean ${near}? `}Choose from: ${names.join(", ")}.`,
  });
}
