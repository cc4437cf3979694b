import { create, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  ExportNetworkHistoryRequestSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { parseHttpCall } from "../../../src/wire/http-rule/http-call.js";
import { ruleOf, ShapeSchema, shapeMethod } from "../../support/shapes.js";
import { createHttpCall, type HttpBinding, type HttpCall } from "./inside.js";

function read(rule: HttpBinding, call: HttpCall): JsonValue | undefined {
  const message = parseHttpCall(ShapeSchema, rule, call);
  return message && toJson(ShapeSchema, message);
}

const get = ruleOf(shapeMethod({ get: "/shapes" }));
const all = ruleOf(shapeMethod({ post: "/shapes/{name}", body: "*" }));

describe("readCall", () => {
  it("matches verb and path, nothing else", () => {
    expect(read(get, { verb: "GET", target: "/shapes" })).toEqual({});
    expect(read(get, { verb: "POST", target: "/shapes" })).toBeUndefined();
    expect(read(get, { verb: "GET", target: "/shapes/" })).toBeUndefined();
    expect(read(get, { verb: "GET", target: "/shapes?name=1?2" })).toEqual({ name: "1?2" });
  });

  it("reads names of either form, and ignores those it does not know", () => {
    const target = "/shapes?big_number=1&rawBytes=AA%3D%3D&inner.inner_id=a&none=1&inner.none=2&name.x=3&__proto__.x=1";
    expect(read(get, { verb: "GET", target })).toEqual({ bigNumber: "1", rawBytes: "AA==", inner: { innerId: "a" } });
    expect(read(all, { verb: "POST", target: "/shapes/n", body: { raw_bytes: "AA==", none: 1 } })).toEqual({
      name: "n",
      rawBytes: "AA==",
    });
  });

  it.each(["1", "t", "T", "true", "TRUE", "True"])("takes %s for true, as Go does", (text) => {
    expect(read(get, { verb: "GET", target: `/shapes?isOn=${text}` })).toEqual({ isOn: true });
  });

  it("takes enums by number, and lists of them", () => {
    const target = "/shapes?small=2&kind=2&kinds=1&kinds=KIND_TWO";
    expect(read(get, { verb: "GET", target })).toEqual({ small: 2, kind: "KIND_TWO", kinds: ["KIND_ONE", "KIND_TWO"] });
  });

  it.each([
    ["small=1&small=2", "duplicate parameter small"],
    ["bigNumber=1&big_number=1", "duplicate parameter bigNumber"],
    ["inner.innerId=a&inner.inner_id=b", "duplicate parameter inner.innerId"],
    ["kind=KIND_THREE", 'shapes.Shape.kind must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got "KIND_THREE")'],
    ["kind=77", "shapes.Shape.kind must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got 77)"],
    ["kinds=1&kinds=-1", "shapes.Shape.kinds must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got -1)"],
  ])("refuses the parameters %s", (query, message) => {
    const call = { verb: "GET", target: `/shapes?${query}` };
    expect(() => parseHttpCall(ShapeSchema, get, call, { knownEnums: true })).toThrow(message);
  });

  it.each([
    [
      { kind: "KIND_THREE" },
      'shapes.Shape.kind must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got "KIND_THREE")',
    ],
    [{ kind: 77 }, "shapes.Shape.kind must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got 77)"],
    [{ kinds: ["KIND_TWO", 77] }, "shapes.Shape.kinds must be one of KIND_UNSPECIFIED, KIND_ONE, KIND_TWO (got 77)"],
  ])("refuses the body %j", (body, message) => {
    const call = { verb: "POST", target: "/shapes/n", body };
    expect(() => parseHttpCall(ShapeSchema, all, call, { knownEnums: true })).toThrow(message);
  });

  it("lets the path win over body and query string", () => {
    expect(read(all, { verb: "POST", target: "/shapes/n?small=3", body: { name: "other" } })).toEqual({ name: "n" });
    const rule = ruleOf(shapeMethod({ get: "/shapes/{name}" }));
    expect(read(rule, { verb: "GET", target: "/shapes/n?name=other" })).toEqual({ name: "n" });
  });

  it("leaves the body as it was", () => {
    const rule = ruleOf(shapeMethod({ post: "/shapes/{inner.inner_id}", body: "*" }));
    const body = { inner: { innerId: "other" } };
    expect(read(rule, { verb: "POST", target: "/shapes/i", body })).toEqual({ inner: { innerId: "i" } });
    expect(body).toEqual({ inner: { innerId: "other" } });
  });

  it.each([
    ["small=x", "shapes.Shape.small"],
    ["small=", "small must be a whole number"],
    ["small=1.5", "shapes.Shape.small"],
    ["small=2147483648", "shapes.Shape.small"],
    ["bigNumber=9223372036854775808", "shapes.Shape.big_number"],
    ["count=-1", "shapes.Shape.count"],
    ["isOn=2", "shapes.Shape.is_on"],
    ["isOn=yes", "shapes.Shape.is_on"],
    ["flags=true&flags=no", "shapes.Shape.flags"],
    ["kind=KIND_NONE", "shapes.Shape.kind"],
    ["kinds=KIND_ONE&kinds=kind_two", "shapes.Shape.kinds"],
    ["rawBytes=*", "shapes.Shape.raw_bytes"],
    ["atTime=yesterday", "google.protobuf.Timestamp"],
    ["inner=x", "shapes.Inner"],
    ["labels=x", "shapes.Shape.labels"],
  ])("refuses a value that does not fit its field: %s", (search, where) => {
    expect(() => read(get, { verb: "GET", target: `/shapes?${search}` })).toThrow(
      expect.objectContaining({ name: "RequestError", summary: expect.stringContaining(where) }),
    );
  });

  it("refuses a body that is no object where it should be the whole message", () => {
    for (const body of [[], "text", 1]) {
      expect(() => read(all, { verb: "POST", target: "/shapes/n", body })).toThrow(
        expect.objectContaining({ name: "RequestError" }),
      );
    }
  });
});

describe("writeCall", () => {
  it.each<[JsonObject, string]>([
    [{ name: "a b", maybeText: "c/d" }, "/shapes/a%20b/c%2Fd"],
    [{ name: "a", maybeText: "b", small: 1, tags: ["c"] }, "/shapes/a/b?small=1&tags=c"],
    [{ name: "a", maybeText: "b", maybeOn: false }, "/shapes/a/b?maybeOn=false"],
    [{ name: "a", maybeText: "b", inner: { innerId: "c" } }, "/shapes/a/b?inner.innerId=c"],
    [{ name: "a", maybeText: "b", kind: 0, tags: [], rawBytes: "" }, "/shapes/a/b"],
  ])("puts every field that is set into the path or the query string: %j", (json, target) => {
    const rule = ruleOf(shapeMethod({ get: "/shapes/{name}/{maybe_text}" }));
    expect(createHttpCall(ShapeSchema, rule, fromJson(ShapeSchema, json))).toEqual({ verb: "GET", target });
  });

  it.each<[JsonObject, string]>([
    [{ name: "a" }, 'maybe_text is ""'],
    [{ maybeText: "b" }, 'name is ""'],
    [{ name: "..", maybeText: "b" }, 'name is ".."'],
  ])("refuses %j where the path needs more", (json, message) => {
    const rule = ruleOf(shapeMethod({ get: "/shapes/{name}/{maybe_text}" }));
    expect(() => createHttpCall(ShapeSchema, rule, fromJson(ShapeSchema, json))).toThrow(message);
  });

  it("refuses what is no text, in plain JavaScript", () => {
    const rule = ruleOf(shapeMethod({ get: "/shapes/{name}" }));
    const message = Object.assign(create(ShapeSchema), { name: 1 });
    expect(() => createHttpCall(ShapeSchema, rule, message)).toThrow(/cannot be serialized/);
  });

  it("leaves the request as it was, whatever is done to the body", () => {
    const free = { list: [{ a: 1 }], inner: { b: "x" } };
    const json = { name: "n", labels: { a: "b" }, inners: [{ innerId: "i" }], free, anyValue: [{ c: 1 }] };
    const message = fromJson(ShapeSchema, json);
    const { body } = createHttpCall(ShapeSchema, all, message);
    const empty = (value: JsonValue | undefined): void => {
      if (typeof value === "object" && value !== null) {
        for (const key of Object.keys(value)) {
          empty(Reflect.get(value, key));
          Reflect.deleteProperty(value, key);
        }
      }
    };
    expect(body).toMatchObject({ free });
    empty(body);
    expect(toJson(ShapeSchema, message)).toEqual(json);
  });
});

describe("writeCall and readCall", () => {
  const string = fc.string({ unit: "grapheme", maxLength: 8 });
  const word = string.filter((text) => !["", ".", ".."].includes(text));
  const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
  const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
  const double = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.constantFrom("NaN", "Infinity", "-Infinity"),
  );
  const bytes = fc.uint8Array({ maxLength: 8 }).map((value) => Buffer.from(value).toString("base64"));
  const kind = fc.constantFrom<string | number>("KIND_UNSPECIFIED", "KIND_ONE", "KIND_TWO", 99);
  const time = fc
    .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
    .map((date) => date.toISOString());
  const few = <T>(value: fc.Arbitrary<T>) => fc.array(value, { maxLength: 3 });
  // A message that is set but empty leaves no trace in a query string: here it always has a field.
  const { inner } = fc.letrec<{ inner: JsonObject }>((tie) => ({
    inner: fc.record(
      {
        innerId: string,
        levels: few(int32),
        deeper: fc.option(tie("inner"), { nil: null, depthSize: "small" }),
        isSet: fc.boolean(),
      },
      { requiredKeys: ["isSet"] },
    ),
  }));
  const shape = fc.record(
    {
      name: word,
      bigNumber: int64,
      count: uint64,
      small: int32,
      ratio: double,
      rawBytes: bytes,
      isOn: fc.boolean(),
      kind,
      tags: few(string),
      numbers: few(int64),
      flags: few(fc.boolean()),
      kinds: few(kind),
      inner,
      textValue: string,
      boolValue: fc.boolean(),
      doubleValue: double,
      uintValues: few(uint64),
      atTime: time,
      maybeText: string,
      maybeNumber: int64,
      maybeOn: fc.boolean(),
    },
    { requiredKeys: ["name", "inner"] },
  );
  // Protobuf's JSON takes no key of this name, and JSON no negative zero.
  const key = string.filter((text) => text !== "__proto__");
  const anything = fc
    .jsonValue()
    .map((value): string => JSON.stringify(value))
    .filter((json) => !json.includes("__proto__"))
    .map((json): JsonValue => JSON.parse(json));
  const unlimited = fc.record(
    { labels: fc.dictionary(key, string, { noNullPrototype: true }), inners: few(inner), anyValue: anything },
    { requiredKeys: [] },
  );

  function expectInverse(rule: HttpBinding, json: JsonObject): void {
    const message = fromJson(ShapeSchema, json);
    const { verb, target, body } = createHttpCall(ShapeSchema, rule, message);
    // The body travels as text.
    const call = { verb, target, ...(body === undefined ? {} : { body: JSON.parse(JSON.stringify(body)) }) };
    const back = parseHttpCall(ShapeSchema, rule, call);
    expect(back && toJson(ShapeSchema, back)).toEqual(toJson(ShapeSchema, message));
  }

  it.each([
    ["a query string", { get: "/shapes" }],
    ["a path and a query string", { get: "/shapes/{name}/{kind}/{inner.is_set}/{big_number}:go" }],
    ["one field's body and a query string", { post: "/shapes/{name}", body: "inner" }],
    ["a list's body and a query string", { post: "/shapes/{name}", body: "tags" }],
    ["a wrapper's body and a query string", { post: "/shapes/{name}", body: "bool_value" }],
    ["a text's body and a query string", { post: "/shapes", body: "maybe_text" }],
  ])("are each other's inverse over %s", (_, rule) => {
    const binding = ruleOf(shapeMethod(rule));
    fc.assert(
      fc.property(shape, (json) => expectInverse(binding, json)),
      { numRuns: 200 },
    );
  });

  it("are each other's inverse over a body, for any message", () => {
    fc.assert(
      fc.property(shape, unlimited, (json, more) => expectInverse(all, { ...json, ...more })),
      { numRuns: 200 },
    );
  });

  it("are each other's inverse for exports", () => {
    const rule = ruleOf(TradingDataService.method.exportNetworkHistory);
    const blocks = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(blocks, blocks, fc.integer({ min: 0, max: 15 }), (fromBlock, toBlock, table) => {
        const message = create(ExportNetworkHistoryRequestSchema, { fromBlock, toBlock, table });
        const call = createHttpCall(ExportNetworkHistoryRequestSchema, rule, message);
        expect(parseHttpCall(ExportNetworkHistoryRequestSchema, rule, call)).toEqual(message);
      }),
    );
  });
});
