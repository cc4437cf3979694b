import type { DescMessage } from "@bufbuild/protobuf";
import { RequestError } from "../../errors/index.js";
import { nearest } from "../../errors/nearest.js";
import { quoted } from "../../errors/quoted.js";

/**
 * Make the error for a field that a message does not have.
 *
 * @param desc the message
 * @param name the name that was given
 * @param where what comes before the name, such as `--set` or the path of the message
 * @returns the error, which names the nearest field and lists all
 */
export function unknownField(desc: DescMessage, name: string, where: string): RequestError {
  const names = desc.fields.map(({ jsonName }) => jsonName);
  const near = nearest(name, names);
  const meant = near === undefined ? "" : `Did you mean ${near}? `;
  const all = names.length === 0 ? "It has no fields." : `Its fields: ${names.join(", ")}.`;
  return new RequestError(`${where}: ${desc.typeName} has no field ${quoted(name)}`, { advice: `${meant}${all}` });
}
