import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { corrupt, crcText, nameText, refused, tooLarge, truncated } from "../../../src/data/zip/zip-format.js";

describe("an error for an archive", () => {
  it("says what is wrong, by which code, and what to do", () => {
    const cause = new Error("cause");
    const errors: readonly [ProtocolError, Code, string, RegExp][] = [
      [corrupt("it is", cause), Code.DataLoss, "the archive is corrupt: it is", /\nExport again\. If it fails again/],
      [refused("it is"), Code.DataLoss, "the archive is rejected: it is", /\nNo export looks like this/],
      [tooLarge("it is", "Raise."), Code.ResourceExhausted, "the archive is too large: it is", /\nRaise\.$/],
      [
        truncated(7),
        Code.DataLoss,
        "the archive is truncated: the stream ended after 7 bytes",
        /\nRows are missing\. Export again\./,
      ],
    ];
    for (const [error, code, summary, advice] of errors) {
      expect(error).toBeInstanceOf(ProtocolError);
      expect([error.code, error.summary]).toEqual([code, summary]);
      expect(error.message).toMatch(advice);
    }
    expect(errors[0]?.[0].cause).toBe(cause);
  });
});

describe("nameText", () => {
  it("quotes a name on one line, and cuts one that is long", () => {
    expect(nameText('a"\n.csv')).toBe('"a\\"\\n.csv"');
    expect(nameText("x".repeat(120))).toBe(`"${"x".repeat(120)}"`);
    expect(nameText("x".repeat(121))).toBe(`"${"x".repeat(120)}…"`);
  });
});

describe("crcText", () => {
  it("writes 8 hex digits", () => {
    expect([crcText(0), crcText(0xab), crcText(0xdeadbeef)]).toEqual(["00000000", "000000ab", "deadbeef"]);
  });
});
