import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ProtocolError } from "tradewire";
import { parseJsonValues, type StreamForm } from "../../../src/wire/json/json-stream.js";
import { anyValue, arriving } from "../../support/json.js";
import { runs } from "../../support/tier.js";

const LIMIT = 1024 * 1024;

describe("jsonValues", () => {
  const ARRAY: StreamForm = { array: true, anyValue: true };
  const LINES: StreamForm = { array: false, anyValue: true };

  async function values(text: string | Uint8Array, form: StreamForm, cuts: readonly number[] = [], maxBytes = LIMIT) {
    const found: JsonValue[] = [];
    for await (const value of parseJsonValues(arriving(Buffer.from(text), cuts), form, maxBytes)) {
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
      { numRuns: runs(300) },
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
        for await (const value of parseJsonValues(arriving(Buffer.from(text.slice(0, length)), []), form, LIMIT)) {
          came.push(value);
        }
        return "a stream that was whole";
      })();
      const end = await reading.catch((reason: ProtocolError) => reason.summary);
      expect(end).toMatch(between.includes(length) ? "a stream that was whole" : /^the stream was truncated at byte/);
      expect(came).toEqual(whole.slice(0, came.length));
    }
  });

  it("takes a number for complete at what stands behind it, and not at the end of a stream", async () => {
    expect(await values("12\n34 ", LINES, [1, 4])).toEqual([12, 34]);
    expect(await refused("12\n34", LINES)).toBe("the stream was truncated at byte 5, inside a JSON value");
    expect(await refused("nul", LINES)).toBe("the stream was truncated at byte 3, inside a JSON value");
  });

  it("gives each element of an array before the next has come", async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('[{"a":1}');
      throw new Error("the next one is awaited");
    }
    const reading = parseJsonValues(endless(), ARRAY, LIMIT);
    expect((await reading.next()).value).toEqual({ a: 1 });
    await expect(reading.next()).rejects.toThrow("the next one is awaited");
  });

  it.each([
    ["", "the stream was truncated at byte 0, before the end of its JSON array"],
    ["[", "the stream was truncated at byte 1, before the end of its JSON array"],
    ["[{}", "the stream was truncated at byte 3, before the end of its JSON array"],
    ["[{},", "the stream was truncated at byte 4, before the end of its JSON array"],
    ["{}", 'expected a JSON array at byte 0, but found "{}"'],
    ["<html>", 'expected a JSON array at byte 0, but found "<html>"'],
    ["[,{}]", 'expected a JSON value at byte 1, but found ",{}]"'],
    ["[{},]", 'expected a JSON value at byte 4, but found "]"'],
    ["[{},,{}]", 'expected a JSON value at byte 4, but found ",{}]"'],
    ["[{}{}]", 'expected a comma or the end of the JSON array at byte 3, but found "{}]"'],
    ["[1 2]", 'expected a comma or the end of the JSON array at byte 3, but found "2]"'],
    ["[{}]]", 'expected the end of the stream at byte 4, but found "]"'],
    ["[{}]\n{}", 'expected the end of the stream at byte 5, but found "{}"'],
    ["[tru,1]", "invalid JSON in the value that ends at byte 4"],
    ["[01]", "invalid JSON in the value that ends at byte 3"],
    ["[}]", 'expected a JSON value at byte 1, but found "}]"'],
  ])("refuses, as an array, %j", async (text, summary) => {
    expect(await refused(text, ARRAY)).toBe(summary);
  });

  it("takes objects only, where they are expected", async () => {
    const form = { array: true, anyValue: false };
    expect(await values("[{},{}]", form)).toEqual([{}, {}]);
    expect(await refused("[{},1]", form)).toBe('expected a JSON object at byte 4, but found "1]"');
    expect(await refused('[["a"]]', form)).toBe('expected a JSON object at byte 1, but found "[\\"a\\"]]"');
  });

  it("holds each element, not the stream, to the limit", async () => {
    expect(await values(`[${'"12345678",'.repeat(50)}1]`, ARRAY, [], 10)).toHaveLength(51);
    for (const over of ['["123456789"]', "[12345678901]", "[[1,2,3,4,5,6]]"]) {
      expect(await refused(over, ARRAY, 10)).toBe("a message is larger than the limit");
    }
  });
});
