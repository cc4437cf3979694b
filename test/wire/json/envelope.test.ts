import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { parseEnvelope, parseErrorObject } from "../../../src/wire/json/envelope.js";
import { anyToObject, httpBodyFromJson } from "./inside.js";

describe("openEnvelope", () => {
  it("opens a result", () => {
    expect(parseEnvelope({ result: { data: "UEs=" } })).toEqual({ result: { data: "UEs=" } });
    expect(parseEnvelope({ result: {}, error: null })).toEqual({ result: {} });
    expect(parseEnvelope({ result: "text", other: 1 })).toEqual({ result: "text" });
  });

  it("opens an error", () => {
    const error = { code: 13, message: "no such segment", details: [{ "@type": "a.example/b.C", d: 1 }] };
    expect(parseEnvelope({ error })).toEqual({ error });
    expect(parseEnvelope({ result: null, error })).toEqual({ error });
  });

  it.each<[string, JsonObject]>([
    ["a chunk has both a result and an error; it has the fields: result, error", { result: {}, error: {} }],
    ["a chunk has neither a result nor an error; it has the fields: none", {}],
    ["a chunk has neither a result nor an error; it has the fields: result", { result: null }],
    ["a chunk has neither a result nor an error; it has the fields: code, message", { code: 5, message: "x" }],
  ])("refuses: %s", (summary, json) => {
    const open = () => parseEnvelope(json);
    expect(open).toThrow(ProtocolError);
    expect(open).toThrow(expect.objectContaining({ summary, code: Code.DataLoss }));
  });
});

describe("readErrorObject", () => {
  it("reads an error object", () => {
    const object = {
      code: 3,
      message: "range",
      details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", code: 7, message: "m", inner: "i" }],
    };
    expect(parseErrorObject(object)).toEqual(object);
  });

  it.each<[JsonValue]>([[0], [17], [-1], [1.5], ["3"], [null], ["constructor"]])(
    "takes the code %j for UNKNOWN",
    (code) => {
      expect(parseErrorObject({ code, message: "m" })).toEqual({ code: Code.Unknown, message: "m", details: [] });
    },
  );

  it.each<[string, JsonObject, Code]>([
    ["Google's own, whose code is the HTTP status", { code: 404, status: "NOT_FOUND" }, Code.NotFound],
    ["Google's own, whose status tells more than its code", { code: 400, status: "OUT_OF_RANGE" }, Code.OutOfRange],
    ["Google's own spelling", { code: 499, status: "CANCELLED" }, Code.Canceled],
    ["the number, where a status is something else", { code: 5, status: "gone" }, Code.NotFound],
    ["the HTTP status alone", { code: 409 }, Code.Aborted],
    ["the first grpc-gateway's", { grpc_code: 8, http_code: 429, http_status: "Too Many" }, Code.ResourceExhausted],
    ["Connect's, whose code is a name", { code: "failed_precondition" }, Code.FailedPrecondition],
    ["an HTTP status that stands for no code", { code: 418 }, Code.Unknown],
  ])("reads the code of %s", (_, object, code) => {
    expect(parseErrorObject({ ...object, message: "m" })).toEqual({ code, message: "m", details: [] });
  });

  it("keeps what is no error object as far as it can", () => {
    const { Unknown: code } = Code;
    expect(parseErrorObject("out of order")).toEqual({ code, message: '"out of order"', details: [] });
    expect(parseErrorObject(["x"])).toEqual({ code, message: '["x"]', details: [] });
    expect(parseErrorObject({})).toEqual({ code, message: "", details: [] });
    expect(parseErrorObject({ code: 5, message: 1, details: {} })).toEqual({ code: 5, message: "", details: [] });
    expect(parseErrorObject({ code: 5, details: ["plain", { a: 1 }, { "@type": 2 }] }).details).toEqual(
      ["plain", { a: 1 }, { "@type": 2 }].map((value) => ({
        "@type": "type.googleapis.com/google.protobuf.Value",
        value,
      })),
    );
  });
});

describe("httpBodyFromJson", () => {
  it("reads a body", () => {
    const body = httpBodyFromJson({
      contentType: "application/zip",
      data: "UEsDBA==",
      extensions: [{ "@type": "node.example/a.B", c: [1] }],
      unknown: true,
    });
    expect(body.contentType).toBe("application/zip");
    expect([...body.data]).toEqual([0x50, 0x4b, 3, 4]);
    expect(body.extensions.map((any) => anyToObject(any))).toEqual([{ "@type": "node.example/a.B", c: [1] }]);
  });

  it("takes fields that are left out for empty", () => {
    const { contentType, data, extensions } = httpBodyFromJson({});
    expect({ contentType, size: data.length, extensions }).toEqual({ contentType: "", size: 0, extensions: [] });
  });

  it.each<[string, JsonValue]>([
    ["the result of a chunk is not an object", "UEs="],
    ["contentType of a chunk is not a string", { contentType: 1 }],
    ["data of a chunk is not base64 (RFC 4648, section 4, with padding)", { data: "UEs" }],
    ["data of a chunk is not base64 (RFC 4648, section 4, with padding)", { data: [80, 75] }],
    ["extensions of a chunk is not an array", { extensions: {} }],
    ["an extension of a chunk has no @type", { extensions: [{ type: "a/b" }] }],
    ["an extension of a chunk has no @type", { extensions: ["a/b"] }],
    [
      "value is a JSON number beyond 2^53, near 9007199254740992, which loses precision",
      { extensions: [{ "@type": "type.googleapis.com/google.protobuf.Int64Value", value: 2 ** 53 }] },
    ],
    [
      'value must be a decimal integer (got "0x10")',
      { extensions: [{ "@type": "type.googleapis.com/google.protobuf.Int64Value", value: "0x10" }] },
    ],
  ])("refuses: %s", (summary, json) => {
    expect(() => httpBodyFromJson(json)).toThrow(expect.objectContaining({ name: "ProtocolError", summary }));
  });

  it("takes null for a field that is left out, as Protobuf's JSON does", () => {
    const { contentType, data, extensions } = httpBodyFromJson({ contentType: null, data: null, extensions: null });
    expect({ contentType, size: data.length, extensions }).toEqual({ contentType: "", size: 0, extensions: [] });
  });
});
