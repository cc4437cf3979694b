// Messages in JSON are read as protobuf-es reads them, whatever a server writes.
import { type DescMethodUnary, fromBinary, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import fc, { type GeneratorValue } from "fast-check";
import { CoreService, CoreStateService, TradingDataService } from "tradewire/api";
import { useAnsweringServer } from "../../support/answering-server.js";
import { compile, isUnary, serviceOf, unaryMethod } from "../../support/definitions.js";
import { randomWire } from "../../support/random-wire.js";
import { runs } from "../../support/tier.js";

const DEFINITIONS = {
  "every.proto": `
    syntax = "proto3";
    package every;
    enum Color { NONE = 0; RED = 1; }
    message Every {
      bool a_a = 1; string b_b = 2; bytes c_c = 3; int32 d = 4; sint32 e = 5; sfixed32 f = 6; uint32 g = 7; fixed32 h = 8;
      int64 i = 9; sint64 j = 10; sfixed64 k = 11; uint64 l_l = 12; fixed64 m = 13; float n = 14; double o = 15; Color p_p = 16;
      optional int32 q = 17; optional string r = 18; optional Color s = 19; Every t_t = 20;
      oneof u { string v = 21; int64 w = 22; Every x_x = 23; Color y = 24; }
      repeated int32 aa = 31; repeated string bb = 32; repeated bytes cc = 33; repeated double dd = 34; repeated Color ee = 35;
      repeated Every ff = 36; repeated sint64 gg = 37; repeated bool hh = 38;
      map<string, string> aaa = 41; map<int32, Every> bbb = 42; map<string, Color> ccc = 43; map<string, Every> ddd = 44;
    }
    service Service { rpc Get(Every) returns (Every); }`,
};

/** Values in forms that some server writes, and in forms that none may write. None can be the name of an enum value. */
const OTHERS: readonly JsonValue[] = [
  ...[null, true, [], {}, [null], { "": null }, 0, -0, 1, -1, 1.5, 1e39, 2 ** 32, 2 ** 53, -(2 ** 31) - 256, 1e300],
  ...["", "0", "1", "-1", "-0", "01", " 1", "1.5", "1e3", "0x10", "x y", "-Infinity", "\ud800", "AA==", "AB==", "-_8"],
  ...["9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1".repeat(60)],
];

/** Change one value of JSON, or the name of one member. */
function changed(json: JsonValue, draw: GeneratorValue): JsonValue {
  const other = () => OTHERS[draw(fc.nat, { max: OTHERS.length - 1 })] ?? null;
  const chance = draw(fc.integer, { min: 0, max: 9 });
  if (typeof json !== "object" || json === null || chance === 0) {
    return other();
  }
  if (Array.isArray(json)) {
    const at = draw(fc.integer, { min: 0, max: json.length });
    return at === json.length ? [...json, other()] : json.with(at, changed(json[at] ?? null, draw));
  }
  const names = Object.keys(json);
  const name = names[draw(fc.integer, { min: 0, max: Math.max(0, names.length - 1) })] ?? "v";
  const value = json[name] ?? null;
  const original = name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  switch (chance) {
    case 1:
      return { ...json, [original]: value };
    case 2:
      return { ...Object.fromEntries(Object.entries(json).filter(([key]) => key !== name)), [original]: value };
    case 3:
      return { ...json, unknown: value, toString: 1 };
    case 4:
      return { ...json, v: "", w: null };
    default:
      return { ...json, [name]: changed(value, draw) };
  }
}

/** What is refused although protobuf-es reads it: numbers that may have lost digits, and texts that no server writes. */
const REFUSED = /must be a decimal integer|beyond 2\^53|must be the name of an enum value/u;

const call = useAnsweringServer("json");

type Outcome = { readonly value: unknown } | { readonly refused: string };

async function outcome(read: () => unknown): Promise<Outcome> {
  try {
    return { value: await read() };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return { refused: `${error}; ${cause}` };
  }
}

/** Check that random answers are read, or refused, as by protobuf-es. */
async function assertSame(methods: readonly DescMethodUnary[]): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), fc.boolean(), fc.gen(), async (method, isChanged, draw) => {
      const type = method.output;
      const json = toJson(type, fromBinary(type, randomWire(type, draw)));
      const answer = JSON.stringify(isChanged ? changed(json, draw) : json);
      const theirs = await outcome(() => fromJson(type, JSON.parse(answer), { ignoreUnknownFields: true }));
      const ours = await outcome(() => call(method, Buffer.from(answer)));
      if ("value" in ours) {
        expect(ours).toStrictEqual(theirs);
      } else if ("value" in theirs) {
        expect(ours.refused).toMatch(REFUSED);
      }
    }),
    { numRuns: runs(6000) },
  );
}

async function received(text: string): Promise<unknown> {
  return call(unaryMethod(serviceOf(await compile(DEFINITIONS), "every.Service"), "Get"), Buffer.from(text));
}

test("an integer of a million digits is refused at once", async () => {
  await expect(received(`{"i":"${"1".repeat(1_000_000)}"}`)).rejects.toMatchObject({
    cause: { summary: "the response does not match its definition" },
  });
});

test.each([".1", "+0.1", "1e-1"])("a float as the text %s is rounded to one", async (text) => {
  expect(await received(JSON.stringify({ n: text }))).toMatchObject({ n: Math.fround(0.1) });
});

test("messages share no bytes", async () => {
  const { cC: bytes } = Object(await received("{}"));
  structuredClone(bytes, { transfer: [bytes.buffer] });
  expect(structuredClone(await received("{}"))).toHaveProperty("cC", new Uint8Array());
});

test("the network's answers", async () => {
  const methods = [TradingDataService, CoreService, CoreStateService].flatMap((service) => [...service.methods]);
  await assertSame(methods.filter(isUnary));
});

test("answers of other definitions", async () => {
  await assertSame([unaryMethod(serviceOf(await compile(DEFINITIONS), "every.Service"), "Get")]);
});
