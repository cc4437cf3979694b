import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { RequestError } from "tradewire";
import { isoTime } from "../../src/cli/formatting.js";
import { parseTime } from "./inside.js";

describe("parseTime", () => {
  it.each([
    ["0", 0n],
    ["1697702400000000001", 1_697_702_400_000_000_001n],
    ["2023-10-19", 1_697_673_600_000_000_000n],
    ["2023-10-19T08:00", 1_697_702_400_000_000_000n],
    ["2023-10-19 08:00:00Z", 1_697_702_400_000_000_000n],
    ["2023-10-19T10:00:00.000000001+02:00", 1_697_702_400_000_000_001n],
    ["2023-10-19T06:30:00,5-0130", 1_697_702_400_500_000_000n],
  ])("reads %s", (text, nanoseconds) => {
    expect(parseTime(text, "--since")).toBe(nanoseconds);
  });

  it.each([
    "",
    "now",
    "yesterday",
    "1 h",
    "2023-13-01",
    "2023-02-30",
    "2023-10-19T25:00",
    "19.10.2023",
    "-5",
    "1e9",
    "2023-10-19T08",
  ])("refuses %j", (text) => {
    expect(() => parseTime(text, "--since")).toThrow(RequestError);
    expect(() => parseTime(text, "--since")).toThrow(
      `must be ISO 8601, such as 2024-01-31 or 2024-01-31T12:30:00Z, a duration before now, such as 1h, or Unix nanoseconds (got ${JSON.stringify(text)})`,
    );
  });

  it.each([
    ["500ms", 500],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["1.5h", 5_400_000],
  ])("reads %s as a time before now", (text, ms) => {
    const before = Date.now();
    const time = Number(parseTime(text, "--since") / 1_000_000n);
    expect(time).toBeGreaterThanOrEqual(before - ms);
    expect(time).toBeLessThanOrEqual(Date.now() - ms);
  });

  it("reads what isoTime writes", () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 18n), 10n ** 19n - 1n), (nanoseconds) => {
        expect(parseTime(isoTime(nanoseconds), "--since")).toBe(nanoseconds);
      }),
    );
  });
});

describe("isoTime", () => {
  it("writes as many decimals as there are", () => {
    expect(isoTime(1_697_702_400_007_919_000n)).toBe("2023-10-19T08:00:00.007919Z");
    expect(isoTime(-1n)).toBe("1969-12-31T23:59:59.999999999Z");
    expect(isoTime(2n ** 100n)).toBe(String(2n ** 100n));
  });
});
