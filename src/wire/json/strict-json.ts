import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf";
import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { isForeignNumber, replaceValues } from "./protobuf-json.js";

/**
 * Parses JSON that a user has written, such as a command. `JSON.parse` would take the last of several members with one name.
 *
 * @throws the error of `invalid`
 * @throws {@link RequestError} if an object has two members with one name
 */
export function parseStrictJson(text: string, source: string, invalid: () => Error): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid();
  }
  const name = duplicateName(text);
  if (name !== undefined) {
    throw new RequestError(`${source}: the name ${quoted(name)} occurs twice in one object`, {
      advice: "Remove one of the two: which of them counts is not defined.",
    });
  }
  return value;
}

export function duplicateName(text: string): string | undefined {
  /** The names in each object around the place; of an array, `undefined`. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case "{":
        open.push(new Set());
        break;
      case "[":
        open.push(undefined);
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case '"': {
        const end = endOfString(text, at);
        const names = open.at(-1);
        if (names !== undefined && isName(text, end)) {
          const name = String(JSON.parse(text.slice(at, end + 1)));
          if (names.has(name)) {
            return name;
          }
          names.add(name);
        }
        at = end;
      }
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') {
    end += text[end] === "\\" ? 2 : 1;
  }
  return end;
}

/** Whether the string that ends at a place is a name: a colon follows it. */
function isName(text: string, end: number): boolean {
  const next = /[^\s]/g;
  next.lastIndex = end + 1;
  return next.exec(text)?.[0] === ":";
}

/**
 * Requires that a message in JSON has each field once and its numbers in the form of JSON. protobuf-es takes the last of two
 * names of a field, and any text that JavaScript can convert to a number, such as `"0x10"` or `" 5 "`.
 *
 * @throws {@link RequestError} naming the field
 */
export function assertStrictMessage(desc: DescMessage, json: JsonValue, registry: Registry, source: string): void {
  const check = (what: string) => (value: JsonValue, field: DescField) => {
    if (typeof value === "string" && isForeignNumber(value, field.scalar)) {
      throw new RequestError(`${source}: ${field.jsonName} must be a ${what} number (got ${quoted(value)})`, {
        advice: 'Write digits without spaces, such as 16 or "16".',
      });
    }
    return value;
  };
  const onMessage = ({ fields }: DescMessage, message: JsonObject) => {
    const twice = fields.find(
      ({ jsonName, name }) => jsonName !== name && Object.hasOwn(message, jsonName) && Object.hasOwn(message, name),
    );
    if (twice !== undefined) {
      throw new RequestError(`${source}: ${twice.jsonName} and ${twice.name} are the same field`, {
        advice: "Remove one of the two: which of them counts is not defined.",
      });
    }
  };
  const [whole, decimal] = [check("whole"), check("decimal")];
  const numbers = { integers: whole, longs: whole, floats: decimal, doubles: decimal };
  replaceValues(desc, structuredClone(json), registry, { ...numbers, onMessage });
}
