// What becomes of calls, in a form that can be compared.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRegistry, toJson } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { jsonReplacer, TradewireError } from "tradewire";

/** The types that extensions of the local node's chunks are of. */
const registry = createRegistry(StructSchema);

/** A value as JSON has it. */
export const plain = (value) => JSON.parse(JSON.stringify(value, jsonReplacer));

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** What an error of the library says, but for what it went over. */
export function told(error) {
  assert.ok(error instanceof TradewireError, error);
  const { name, code, message, details } = error.toJSON();
  return { name, code, message, details };
}

/** What became of a call: `{ value }` or `{ error }`. */
export async function outcome(call) {
  try {
    return { value: await call() };
  } catch (error) {
    return { error: told(error) };
  }
}

/** What becomes of a method's call: its messages, as many as are wanted, and its error. */
export async function answers(client, method, request, { limit = Number.POSITIVE_INFINITY, ...options } = {}) {
  const call = client.service(method.parent)[method.localName];
  const messages = [];
  const take = (message) => messages.push(toJson(method.output, message, { registry }));
  const { error } = await outcome(async () => {
    if (method.methodKind === "unary") {
      take(await call(request, options));
      return;
    }
    for await (const message of call(request, options)) {
      if (take(message) === limit) {
        return;
      }
    }
  });
  return error === undefined ? { messages } : { messages, error };
}

/** All that is iterated over, in a list. */
export async function all(iterable) {
  const list = [];
  for await (const one of iterable) {
    list.push(one);
  }
  return list;
}
