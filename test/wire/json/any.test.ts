import { create, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { AnySchema, anyPack, BoolValueSchema, StructSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { anyFromObject, anyToObject, isTypeUrl } from "../../../src/wire/json/any.js";

const DETAIL = "type.googleapis.com/vega.ErrorDetail";

describe("anyToObject", () => {
  it("gives a known type by its fields, defaults included", () => {
    const any = anyPack(ErrorDetailSchema, create(ErrorDetailSchema, { code: 10_001, message: "no such range" }));
    expect(anyToObject(any)).toEqual({ "@type": DETAIL, code: 10_001, message: "no such range", inner: "" });
  });

  it("gives known types of free form", () => {
    expect(anyToObject(anyPack(BoolValueSchema, create(BoolValueSchema, { value: true })))).toEqual({
      "@type": "type.googleapis.com/google.protobuf.BoolValue",
      value: true,
    });
    expect(anyToObject(anyPack(TimestampSchema, create(TimestampSchema, { seconds: 1n })))).toEqual({
      "@type": "type.googleapis.com/google.protobuf.Timestamp",
      value: "1970-01-01T00:00:01Z",
    });
    const struct = fromJson(StructSchema, { a: [1, null] });
    expect(anyToObject(anyPack(StructSchema, struct))).toEqual({
      "@type": "type.googleapis.com/google.protobuf.Struct",
      value: { a: [1, null] },
    });
  });

  it("keeps a type URL as it came", () => {
    const value = toBinary(ErrorDetailSchema, create(ErrorDetailSchema, { code: 1 }));
    const any = create(AnySchema, { typeUrl: "node.example/vega.ErrorDetail", value });
    expect(anyToObject(any)).toMatchObject({ "@type": "node.example/vega.ErrorDetail", code: 1 });
  });

  it("keeps the content of an unknown type as base64", () => {
    const any = create(AnySchema, { typeUrl: "node.example/other.Thing", value: Uint8Array.of(0xff, 0, 1) });
    expect(anyToObject(any)).toEqual({ "@type": "node.example/other.Thing", value: "/wAB" });
  });

  it("keeps content that is not what its type says", () => {
    const any = create(AnySchema, { typeUrl: DETAIL, value: Uint8Array.of(0x12, 0x7f) });
    expect(anyToObject(any)).toEqual({ "@type": DETAIL, value: "En8=" });
    expect(anyToObject(create(AnySchema))).toEqual({ "@type": "", value: "" });
  });
});

describe("anyFromObject", () => {
  it("makes a known type's binary form, unknown fields ignored", () => {
    const any = anyFromObject({ "@type": DETAIL, code: 7, message: "m", later: true });
    expect(any.typeUrl).toBe(DETAIL);
    expect(fromBinary(ErrorDetailSchema, any.value)).toMatchObject({ code: 7, message: "m", inner: "" });
    expect(anyToObject(any)).toEqual({ "@type": DETAIL, code: 7, message: "m", inner: "" });
  });

  it("keeps a type URL as it came", () => {
    const object = { "@type": "node.example/vega.ErrorDetail", code: 7, message: "m", inner: "" };
    expect(anyToObject(anyFromObject(object))).toEqual(object);
  });

  it("keeps the JSON of an unknown type", () => {
    const object = { "@type": "node.example/other.Thing", a: { b: ["c"] }, value: 1 };
    const any = anyFromObject(object);
    expect(any.typeUrl).toBe("node.example/other.Thing");
    expect(anyToObject(any)).toEqual(object);
    // It lives on inside a message.
    const [held] = create(HttpBodySchema, { extensions: [any] }).extensions;
    expect(held && anyToObject(held)).toEqual(object);
  });

  it("keeps JSON that is not what its type says", () => {
    for (const object of [{ "@type": DETAIL, code: "many" }, { "@type": "" }, { "@type": "no slash" }]) {
      expect(anyToObject(anyFromObject(object))).toEqual(object);
    }
  });
});

describe("isTypeUrl", () => {
  it("wants a slash, and a name after the last one", () => {
    for (const url of ["type.googleapis.com/a.B", "/a.B", "https://x.example/y/a.B"]) {
      expect(isTypeUrl(url)).toBe(true);
    }
    for (const text of ["", "a.B", "type.googleapis.com/", "/"]) {
      expect(isTypeUrl(text)).toBe(false);
    }
  });
});
