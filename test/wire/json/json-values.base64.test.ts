import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decodeBase64 } from "../../../src/wire/json/json-values.js";

describe("decodeBase64", () => {
  it("decodes whatever was encoded", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const decoded = decodeBase64(Buffer.from(bytes).toString("base64"));
        expect([...(decoded ?? [-1])]).toEqual([...bytes]);
      }),
    );
    expect(decodeBase64("")).toHaveLength(0);
  });

  it.each([
    ["without padding", "UEs"],
    ["with too much padding", "UEs=="],
    ["with padding in the middle", "UEs=UEs="],
    ["of the URL's alphabet", "_-8="],
    ["with a line feed", "UEsD\nBAoA"],
    ["with a line feed at the end", "UEsD\n"],
    ["with a space", "UE sD"],
    ["with bits left over", "UEt="],
    ["with one character alone", "U"],
    ["of other characters", "UE€D"],
    ["of padding alone", "===="],
  ])("refuses text %s", (_, text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});
