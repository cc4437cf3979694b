import { createRegistry, type DescMessage, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { AnySchema, FloatValueSchema } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { compile } from "../../support/definitions.js";
import { messageFromJson, requestToJson, unsizedMessageFromJson } from "./inside.js";

const LARGEST = 3.4028234663852886e38;

let Numbers: DescMessage;
let Forest: DescMessage;
beforeAll(async () => {
  const definitions = await compile({
    "numbers.proto": `
      syntax = "proto3";
      package numbers;
      import "google/protobuf/any.proto";
      import "google/protobuf/wrappers.proto";
      enum Kind { KIND_UNSPECIFIED = 0; }
      message Numbers {
        float ratio = 1;
        repeated float many_ratios = 2;
        map<string, float> by_name = 3;
        google.protobuf.FloatValue perhaps = 4;
        repeated google.protobuf.FloatValue wrapped = 5;
        oneof one { float either = 6; string other = 7; }
        Numbers inner = 8;
        google.protobuf.Any content = 9;
        double wide = 10;
        Kind kind = 11;
        google.protobuf.DoubleValue maybe_wide = 12;
      }
      message Forest { Plain plain = 1; repeated Tree trees = 2; map<string, Tree> by_name = 3; }
      message Plain { string text = 1; Plain inner = 2; }
      message Tree {
        Plain plain = 1;
        Tree left = 2;
        Forest forest = 3;
        oneof one { float ratio = 4; int64 whole = 5; Kind kind = 6; google.protobuf.FloatValue perhaps = 7; }
      }`,
  });
  const [numbers, forest] = [definitions.getMessage("numbers.Numbers"), definitions.getMessage("numbers.Forest")];
  if (numbers === undefined || forest === undefined) {
    throw new Error("the definitions have no such message");
  }
  [Numbers, Forest] = [numbers, forest];
});

const read = (json: JsonValue) => {
  const registry = createRegistry(Numbers, FloatValueSchema, AnySchema);
  return toJson(Numbers, messageFromJson(Numbers, json, registry), { registry });
};

describe("the largest float, as other languages print it", () => {
  it.each<[string, (value: JsonValue) => JsonValue]>([
    ["a field", (value) => ({ ratio: value })],
    ["a field by the name in the definitions", (value) => ({ many_ratios: [value] })],
    ["a list", (value) => ({ manyRatios: [1, value] })],
    ["a map", (value) => ({ byName: { a: value } })],
    ["a wrapper", (value) => ({ perhaps: value })],
    ["wrappers in a list", (value) => ({ wrapped: [value] })],
    ["a oneof", (value) => ({ either: value })],
    ["a message in a message", (value) => ({ inner: { inner: { ratio: value } } })],
    ["an Any", (value) => ({ content: { "@type": "type.googleapis.com/numbers.Numbers", inner: { ratio: value } } })],
    ["a wrapper in an Any", (value) => ({ content: { "@type": "x.example/google.protobuf.FloatValue", value } })],
  ])("is read in %s", (_, json) => {
    for (const [printed, meant] of [
      [3.4028235e38, LARGEST],
      [-3.4028235e38, -LARGEST],
      ["3.4028235e+38", LARGEST],
    ] as const) {
      const text = (value: JsonValue) => JSON.stringify(read(value)).replace("x.example", "type.googleapis.com");
      expect(text(json(printed))).toBe(text(json(meant)));
      expect(text(json(printed))).toContain("3.4028234663852886e+38");
    }
  });

  it("is a value of its own, not the bound of larger ones", () => {
    for (const beyond of [3.4028236e38, -3.4028236e38, 1e39, "1e39"]) {
      expect(() => read({ ratio: beyond })).toThrow(
        expect.objectContaining({ summary: "the response does not match its definition" }),
      );
    }
    expect(read({ ratio: "Infinity", wide: 3.4028235e38 })).toEqual({ ratio: "Infinity", wide: 3.4028235e38 });
  });

  it("is not the only one: what other floats' digits stand for is the same as over gRPC", () => {
    expect(read({ ratio: 3.4028188e38, manyRatios: [0.1, "-6.2956263e19"], wide: 0.1 })).toEqual({
      ratio: 3.4028188014310798e38,
      manyRatios: [0.10000000149011612, -62956263393709785000],
      wide: 0.1,
    });
  });

  it("is read where it is the whole message", () => {
    expect(messageFromJson(FloatValueSchema, 3.4028235e38)).toMatchObject({ value: LARGEST });
  });
});

describe("a value that protobuf-es would lose or round", () => {
  const within = (tree: JsonObject): JsonObject[] => [
    { trees: [{}, tree] },
    { byName: { a: tree }, plain: { text: "t", inner: { text: "u" } } },
    { trees: [{ plain: { inner: {} }, left: { forest: { by_name: { b: { left: tree } } } } }] },
  ];
  const reading = (json: JsonObject) => unsizedMessageFromJson(Forest, structuredClone(json), undefined, 100);

  it.each<JsonObject>([
    { ratio: 3.4028235e38 },
    { ratio: -0 },
    { perhaps: 3.4028235e38 },
    { kind: "KIND_LATER" },
    { whole: 2 ** 53 - 1 },
  ])("is found in each message that can contain it: %j", (tree) => {
    for (const json of within(tree)) {
      const message = reading(json);
      expect(message).toEqual(messageFromJson(Forest, structuredClone(json)));
      const written = JSON.parse(JSON.stringify(requestToJson(Forest, message, createRegistry())));
      const [name, value] = Object.entries(tree)[0] ?? [];
      const text = Object.is(value, -0) ? "-0" : name === "whole" ? String(value) : value;
      const read = typeof text === "number" ? LARGEST : text;
      expect(JSON.stringify(written)).toContain(JSON.stringify({ [String(name)]: read }));
    }
  });

  it.each<JsonObject>([{ whole: 2 ** 53 }, { whole: "0x10" }, { kind: "no name" }])("is refused there: %j", (tree) => {
    for (const json of within(tree)) {
      expect(() => reading(json)).toThrow(ProtocolError);
    }
  });

  it("is not looked for where no type has one", () => {
    expect(reading({ plain: { text: "KIND_LATER", inner: { text: "0x10" } } })).toMatchObject({
      plain: { text: "KIND_LATER", inner: { text: "0x10" } },
    });
    expect(() => reading({ plain: { text: 1 } })).toThrow(ProtocolError);
  });
});

describe("a request", () => {
  it("keeps the sign of a negative zero, which JSON would drop", () => {
    const json = { ratio: "-0", wide: "-0", maybeWide: "-0", manyRatios: [0, "-0"], byName: { a: "-0" } };
    const message = messageFromJson(Numbers, structuredClone(json));
    expect(message).toMatchObject({ ratio: -0, wide: -0, maybeWide: -0 });
    expect(JSON.parse(JSON.stringify(requestToJson(Numbers, message, createRegistry())))).toEqual(json);
  });

  it("keeps the names of enum values that the definitions lack", () => {
    const message = messageFromJson(Numbers, { kind: "KIND_LATER", inner: { kind: "KIND_LATEST" } });
    const json = { kind: "KIND_LATER", inner: { kind: "KIND_LATEST" } };
    expect(requestToJson(Numbers, message, createRegistry())).toEqual(json);
  });
});

it("refuses what is nested deeper than the stack holds, as any answer that does not fit", () => {
  let json: JsonValue = {};
  for (let depth = 0; depth < 100_000; depth += 1) {
    json = { inner: json };
  }
  expect(() => read(json)).toThrow(expect.objectContaining({ summary: "the response does not match its definition" }));
});
