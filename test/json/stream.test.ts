import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ProtocolError } from "../../src/errors/index.js";
import { jsonObjects, jsonValues, type StreamForm } from "../../src/json/stream.js";
import { decodeUtf8, isJsonObject } from "../../src/json/values.js";

const LIMIT = 1024 * 1024;

async function* cut(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...cuts].sort((a, b) => a - b)) {
    yield bytes.subarray(start, end);
    start = end;
  }
  yield bytes.subarray(start);
}

async function read(text: string | Uint8Array, maxBytes = LIMIT, cuts: readonly number[] = []): Promise<JsonObject[]> {
  const objects: JsonObject[] = [];
  for await (const object of jsonObjects(cut(Buffer.from(text), cuts), maxBytes)) {
    objects.push(object);
  }
  return objects;
}

async function refusal(text: string | Uint8Array, maxBytes = LIMIT): Promise<ProtocolError> {
  const reason: unknown = await read(text, maxBytes).catch((error: unknown) => error);
  if (!(reason instanceof ProtocolError)) {
    throw new Error("a ProtocolError was expected", { cause: reason });
  }
  return reason;
}

/** Strings of all that could mislead a reader that looks for the end of an object. */
const text = fc.string({
  unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", "\n", "a", "é", "\u2028", "🦊", "\u0000"),
});
const { object, value: anyValue } = fc.letrec<{ value: unknown; object: { [key: string]: unknown } }>((tie) => ({
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
}));

describe("jsonObjects", () => {
  it("reads the same objects however the stream is cut", async () => {
    const separator = fc.constantFrom("", "\n", "\r\n", " \t");
    const spacing = fc.constantFrom(undefined, 2);
    const objects = fc.array(fc.tuple(object, separator, spacing), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(objects, fc.array(fc.nat(400), { maxLength: 12 }), async (written, places) => {
        const bytes = Buffer.from(
          written.map(([value, after, indent]) => JSON.stringify(value, undefined, indent) + after).join(""),
        );
        const cuts = places.map((place) => Math.min(place, bytes.length));
        expect(await read(bytes, LIMIT, cuts)).toEqual(written.map(([value]) => JSON.parse(JSON.stringify(value))));
      }),
      { numRuns: 300 },
    );
  });

  it("reads a stream that comes byte by byte", async () => {
    const bytes = Buffer.from('{"a":"\\\\\\"}é"}\n{"b":[{},{"c":"🦊"}]}{}');
    const cuts = bytes.map((_, index) => index);
    expect(await read(bytes, LIMIT, [...cuts])).toEqual([{ a: '\\"}é' }, { b: [{}, { c: "🦊" }] }, {}]);
  });

  it("reads nothing from an empty or blank stream", async () => {
    expect(await read("")).toEqual([]);
    expect(await read(" \r\n\t\n")).toEqual([]);
  });

  it("says at which byte a stream was cut short", async () => {
    for (const whole of ['{"a":{"b":1}}', '{"a":"x\\\\"}', '{"é":["}"]}']) {
      const bytes = Buffer.from(`{}\n${whole}`);
      for (let length = 4; length < bytes.length; length += 1) {
        const { summary, code } = await refusal(bytes.subarray(0, length));
        expect(summary).toBe(`the stream ended at byte ${length}, inside a JSON object: it was cut short`);
        expect(code).toBe(Code.DataLoss);
      }
    }
  });

  it("gives on what came whole before it fails", async () => {
    const objects: JsonObject[] = [];
    const reading = (async () => {
      for await (const json of jsonObjects(cut(Buffer.from('{"a":1}\n{"a":2'), [3]), LIMIT)) {
        objects.push(json);
      }
    })();
    await expect(reading).rejects.toThrow("cut short");
    expect(objects).toEqual([{ a: 1 }]);
  });

  it("refuses what is not an object, and says where and what", async () => {
    expect((await refusal("<html>")).summary).toBe('a JSON object was expected at byte 0, but there is "<html>"');
    expect((await refusal('{}\n[{"a":1}]')).summary).toBe(
      'a JSON object was expected at byte 3, but there is "[{\\"a\\":1}]"',
    );
    for (const other of ['"text"', "1", "null", "{},{}", "\ufeff{}", "}", "\u001e{}"]) {
      expect((await refusal(other)).summary).toMatch(/^a JSON object was expected at byte [02]/);
    }
  });

  it("refuses what only looks like an object", async () => {
    for (const [broken, end] of [
      ["{a:1}", 5],
      ['{"a":[}]', 8],
      ["{]", 2],
      ['{"a":1,}', 8],
      ['{"a":"\n"}', 9],
    ] as const) {
      expect((await refusal(broken)).summary).toBe(`the JSON object that ends at byte ${end} is not valid JSON`);
    }
  });

  it("refuses bytes that are not UTF-8", async () => {
    const { summary } = await refusal(Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]));
    expect(summary).toBe("the JSON object that ends at byte 9 is not valid JSON");
  });

  it("holds each object, not the stream, to the limit", async () => {
    const line = '{"a":"123456"}'; // 14 bytes.
    expect(await read(line.repeat(5), 14, [3, 20])).toHaveLength(5);
    for (const over of [line, line.slice(0, -1)]) {
      const { summary, code } = await refusal(over, 12);
      expect(summary).toBe("a message is larger than the limit");
      expect(code).toBe(Code.ResourceExhausted);
    }
  });

  it("stops at the limit without waiting for the object's end", async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"a":"');
      while (sent < 10_000) {
        sent += 1;
        yield Buffer.alloc(1000, 0x78);
      }
    }
    await expect(jsonObjects(endless(), 5000).next()).rejects.toThrow("a message is larger than the limit");
    expect(sent).toBe(5);
  });

  it("takes work in proportion to the bytes, also for strings of nothing but backslashes and quotes", async () => {
    // Were each quote or piece to look at all backslashes before it, these would be some 10^12 steps.
    for (const value of ["\\".repeat(1_000_000), '\\"'.repeat(500_000)]) {
      const bytes = Buffer.from(JSON.stringify({ value }));
      const cuts = Array.from({ length: 2000 }, (_, index) => index * 1000 + 7);
      expect(await read(bytes, bytes.length, cuts)).toEqual([{ value }]);
    }
  });
});

describe("jsonValues", () => {
  const ARRAY: StreamForm = { array: true, anyValue: true };
  const LINES: StreamForm = { array: false, anyValue: true };

  async function values(text: string | Uint8Array, form: StreamForm, cuts: readonly number[] = [], maxBytes = LIMIT) {
    const found: JsonValue[] = [];
    for await (const value of jsonValues(cut(Buffer.from(text), cuts), form, maxBytes)) {
      found.push(value);
    }
    return found;
  }

  const refused = (text: string, form: StreamForm, maxBytes = LIMIT) =>
    values(text, form, [], maxBytes).then(
      () => undefined,
      ({ summary }: ProtocolError) => summary,
    );

  const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\r", "\t"), maxLength: 3 });
  const written = fc.array(
    fc.tuple(space, anyValue, fc.boolean(), space).map(([before, value, pretty, behind]) => ({
      value,
      text: `${before}${JSON.stringify(value, undefined, pretty ? 2 : undefined)}${behind}`,
    })),
    { maxLength: 5 },
  );
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });

  it.each([
    ["an array", ARRAY, (texts: string[]) => `[${texts.join(",")}]`],
    ["lines", LINES, (texts: string[]) => texts.map((text) => `${text}\n`).join("")],
  ])("reads the values of %s, wherever it is split", async (_, form, join) => {
    await fc.assert(
      fc.asyncProperty(written, places, async (items, at) => {
        const bytes = Buffer.from(join(items.map(({ text }) => text)));
        const cuts = at.map((part) => Math.floor(part * bytes.length));
        expect(await values(bytes, form, cuts)).toEqual(items.map(({ value }) => value));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["an array", ARRAY, '[{"a":"]"},\n12,"}",[1,2],null]', []],
    // Between two values nothing tells of a cut.
    ["lines", LINES, '{"a":"]"}\n12 "}"[1,2]\nnull\n', [9, 10, 13, 16, 21, 22]],
  ])("refuses %s that was cut, after what came whole", async (_, form, text, between: readonly number[]) => {
    const whole = [{ a: "]" }, 12, "}", [1, 2], null];
    expect(await values(text, form)).toEqual(whole);
    for (let length = 1; length < text.length; length += 1) {
      const came: JsonValue[] = [];
      const reading = (async () => {
        for await (const value of jsonValues(cut(Buffer.from(text.slice(0, length)), []), form, LIMIT)) {
          came.push(value);
        }
        return "a stream that was whole";
      })();
      const end = await reading.catch((reason: ProtocolError) => reason.summary);
      expect(end).toMatch(between.includes(length) ? "a stream that was whole" : /it was cut short$/);
      expect(came).toEqual(whole.slice(0, came.length));
    }
  });

  it("takes a number for complete at what stands behind it, and not at the end of a stream", async () => {
    expect(await values("12\n34 ", LINES, [1, 4])).toEqual([12, 34]);
    expect(await refused("12\n34", LINES)).toBe("the stream ended at byte 5, inside a JSON value: it was cut short");
    expect(await refused("nul", LINES)).toBe("the stream ended at byte 3, inside a JSON value: it was cut short");
  });

  it("gives each element of an array before the next has come", async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('[{"a":1}');
      throw new Error("the next one is awaited");
    }
    const reading = jsonValues(endless(), ARRAY, LIMIT);
    expect((await reading.next()).value).toEqual({ a: 1 });
    await expect(reading.next()).rejects.toThrow("the next one is awaited");
  });

  it.each([
    ["", "the stream ended at byte 0, before the end of its JSON array: it was cut short"],
    ["[", "the stream ended at byte 1, before the end of its JSON array: it was cut short"],
    ["[{}", "the stream ended at byte 3, before the end of its JSON array: it was cut short"],
    ["[{},", "the stream ended at byte 4, before the end of its JSON array: it was cut short"],
    ["{}", 'a JSON array was expected at byte 0, but there is "{}"'],
    ["<html>", 'a JSON array was expected at byte 0, but there is "<html>"'],
    ["[,{}]", 'a JSON value was expected at byte 1, but there is ",{}]"'],
    ["[{},]", 'a JSON value was expected at byte 4, but there is "]"'],
    ["[{},,{}]", 'a JSON value was expected at byte 4, but there is ",{}]"'],
    ["[{}{}]", 'a comma or the end of the JSON array was expected at byte 3, but there is "{}]"'],
    ["[1 2]", 'a comma or the end of the JSON array was expected at byte 3, but there is "2]"'],
    ["[{}]]", 'the end of the stream was expected at byte 4, but there is "]"'],
    ["[{}]\n{}", 'the end of the stream was expected at byte 5, but there is "{}"'],
    ["[tru,1]", "the JSON value that ends at byte 4 is not valid JSON"],
    ["[01]", "the JSON value that ends at byte 3 is not valid JSON"],
    ["[}]", 'a JSON value was expected at byte 1, but there is "}]"'],
  ])("refuses, as an array, %j", async (text, summary) => {
    expect(await refused(text, ARRAY)).toBe(summary);
  });

  it("takes objects only, where they are expected", async () => {
    const form = { array: true, anyValue: false };
    expect(await values("[{},{}]", form)).toEqual([{}, {}]);
    expect(await refused("[{},1]", form)).toBe('a JSON object was expected at byte 4, but there is "1]"');
    expect(await refused('[["a"]]', form)).toBe('a JSON object was expected at byte 1, but there is "[\\"a\\"]]"');
  });

  it("holds each element, not the stream, to the limit", async () => {
    expect(await values(`[${'"12345678",'.repeat(50)}1]`, ARRAY, [], 10)).toHaveLength(51);
    for (const over of ['["123456789"]', "[12345678901]", "[[1,2,3,4,5,6]]"]) {
      expect(await refused(over, ARRAY, 10)).toBe("a message is larger than the limit");
    }
  });
});

describe("decodeUtf8", () => {
  it("refuses what is not UTF-8", () => {
    expect(decodeUtf8(Buffer.from("é🦊"))).toBe("é🦊");
    expect(() => decodeUtf8(Buffer.from("é").subarray(0, 1))).toThrow(expect.objectContaining({ name: "TypeError" }));
  });
});

describe("isJsonObject", () => {
  it("tells objects from arrays, null and the rest", () => {
    expect(isJsonObject({})).toBe(true);
    for (const other of [[], null, "a", 1, true, undefined]) {
      expect(isJsonObject(other)).toBe(false);
    }
  });
});
