import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { banMs, readAllowance, refusalMs } from "../../../../src/wire/transport/layers/rate-limit.js";

const headers = (limit?: string, remaining?: string, reset?: string) =>
  new Headers(
    Object.entries({ "ratelimit-limit": limit, "ratelimit-remaining": remaining, "ratelimit-reset": reset }).flatMap(
      ([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]),
    ),
  );

describe("the allowance in an answer", () => {
  it("is the calls that are left, and those that are added in the time until the reset", () => {
    expect(readAllowance(headers("20", "55", "4"))).toEqual({ remaining: 55, perSecond: 5, resetMs: 4000 });
  });

  it("takes what is left for what is added where the limit is missing", () => {
    expect(readAllowance(headers(undefined, "30", "2"))).toEqual({ remaining: 30, perSecond: 15, resetMs: 2000 });
  });

  it("is none without what is left, or without the reset", () => {
    expect(readAllowance(headers("20", undefined, "1"))).toBeUndefined();
    expect(readAllowance(headers("20", "55"))).toBeUndefined();
    expect(readAllowance(new Headers())).toBeUndefined();
  });

  it("adds at least one call, in at least a second and at most ten minutes", () => {
    expect(readAllowance(headers("0", "0", "0"))).toEqual({ remaining: 0, perSecond: 1, resetMs: 1000 });
    expect(readAllowance(headers("1200", "0", "86400"))).toEqual({ remaining: 0, perSecond: 2, resetMs: 600_000 });
  });

  it.each<[string, number | undefined]>([
    ["7", 7],
    [" 7 ", 7],
    ["7, 9", 7],
    ["7 ,9", 7],
    ["999999999", 999_999_999],
    ["1234567890", undefined],
    ["-7", undefined],
    ["7.5", undefined],
    ["7 9", undefined],
    ["7;w=1", undefined],
    ["soon", undefined],
    ["", undefined],
    [",7", undefined],
  ])("reads %j as %p", (value, expected) => {
    expect(readAllowance(headers("1", value, "1"))?.remaining).toBe(expected);
  });
});

describe("a refusal", () => {
  const refused = (code: Code, remaining: string) =>
    refusalMs(new ConnectError("no", code, headers("20", remaining, "3")));

  it("of one call too many lasts until the reset, where nothing is left", () => {
    expect(refused(Code.ResourceExhausted, "0")).toBe(3000);
    expect(refused(Code.Unavailable, "0")).toBe(3000);
  });

  it("is another where something is left, by another code, or without a limit", () => {
    expect(refused(Code.ResourceExhausted, "1")).toBeUndefined();
    expect(refused(Code.PermissionDenied, "0")).toBeUndefined();
    expect(refusalMs(new ConnectError("no", Code.ResourceExhausted))).toBeUndefined();
  });
});

describe("a ban", () => {
  const ban = (code: Code, header: Record<string, string>) => banMs(new ConnectError("no", code, header));

  it("lasts for the seconds that its own header says, or else the common one", () => {
    expect(ban(Code.PermissionDenied, { "ratelimit-retry-after": "60", "retry-after": "5" })).toBe(60_000);
    expect(ban(Code.PermissionDenied, { "retry-after": "5" })).toBe(5000);
    expect(ban(Code.PermissionDenied, { "retry-after": "0" })).toBe(0);
  });

  it("is believed for a day at most", () => {
    expect(ban(Code.PermissionDenied, { "retry-after": "999999999" })).toBe(86_400_000);
  });

  it("is none without a time, or with another code", () => {
    expect(ban(Code.PermissionDenied, {})).toBeUndefined();
    expect(ban(Code.PermissionDenied, { "retry-after": "soon" })).toBeUndefined();
    expect(ban(Code.ResourceExhausted, { "retry-after": "60" })).toBeUndefined();
    expect(ban(Code.Unavailable, { "ratelimit-retry-after": "60" })).toBeUndefined();
  });
});
