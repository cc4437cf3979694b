import fc from "fast-check";

/** Let bytes arrive in pieces, some of which may be empty. */
export async function* arriving(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...cuts].sort((a, b) => a - b)) {
    yield bytes.subarray(start, end);
    start = end;
  }
  yield bytes.subarray(start);
}

/** Strings of all that could mislead a reader that looks for the end of an object. */
const text = fc.string({
  unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", "\n", "a", "é", "\u2028", "🦊", "\u0000"),
});
/** JSON of any form, and JSON objects. */
export const { object: anyObject, value: anyValue } = fc.letrec<{ value: unknown; object: { [key: string]: unknown } }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  }),
);
