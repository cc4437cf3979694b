import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ProtocolError } from "tradewire";
import { parseJsonObjects } from "../../../src/wire/json/json-stream.js";
import { anyObject, arriving } from "../../support/json.js";
import { runs } from "../../support/tier.js";

const LIMIT = 1024 * 1024;

async function read(text: string | Uint8Array, maxBytes = LIMIT, cuts: readonly number[] = []): Promise<JsonObject[]> {
  const objects: JsonObject[] = [];
  for await (const object of parseJsonObjects(arriving(Buffer.from(text), cuts), maxBytes)) {
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

describe("jsonObjects", () => {
  it("reads the same objects however the stream is cut", async () => {
    const separator = fc.constantFrom("", "\n", "\r\n", " \t");
    const spacing = fc.constantFrom(undefined, 2);
    const objects = fc.array(fc.tuple(anyObject, separator, spacing), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(objects, fc.array(fc.nat(400), { maxLength: 12 }), async (written, places) => {
        const bytes = Buffer.from(
          written.map(([value, after, indent]) => JSON.stringify(value, undefined, indent) + after).join(""),
        );
        const cuts = places.map((place) => Math.min(place, bytes.length));
        expect(await read(bytes, LIMIT, cuts)).toEqual(written.map(([value]) => JSON.parse(JSON.stringify(value))));
      }),
      { numRuns: runs(300) },
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
        expect(summary).toBe(`the stream was truncated at byte ${length}, inside a JSON object`);
        expect(code).toBe(Code.DataLoss);
      }
    }
  });

  it("gives on what came whole before it fails", async () => {
    const objects: JsonObject[] = [];
    const reading = (async () => {
      for await (const json of parseJsonObjects(arriving(Buffer.from('{"a":1}\n{"a":2'), [3]), LIMIT)) {
        objects.push(json);
      }
    })();
    await expect(reading).rejects.toThrow("truncated");
    expect(objects).toEqual([{ a: 1 }]);
  });

  it("refuses what is not an object, and says where and what", async () => {
    expect((await refusal("<html>")).summary).toBe('expected a JSON object at byte 0, but found "<html>"');
    expect((await refusal('{}\n[{"a":1}]')).summary).toBe(
      'expected a JSON object at byte 3, but found "[{\\"a\\":1}]"',
    );
    for (const other of ['"text"', "1", "null", "{},{}", "{}\ufeff{}", "}", "\u001e{}"]) {
      expect((await refusal(other)).summary).toMatch(/^expected a JSON object at byte [02]/);
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
      expect((await refusal(broken)).summary).toBe(`invalid JSON in the object that ends at byte ${end}`);
    }
  });

  it("refuses bytes that are not UTF-8", async () => {
    const { summary } = await refusal(Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]));
    expect(summary).toBe("invalid JSON in the object that ends at byte 9");
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
    await expect(parseJsonObjects(endless(), 5000).next()).rejects.toThrow("a message is larger than the limit");
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
