import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { expandPath, matchPath, parsePathTemplate } from "../../../src/wire/http-rule/path-template.js";

function fill(template: string, ...values: string[]): string {
  return expandPath(parsePathTemplate(template), values);
}

function match(template: string, path: string): string[] | undefined {
  return matchPath(parsePathTemplate(template), path);
}

describe("parsePathTemplate", () => {
  it("reads segments, variables and the verb", () => {
    expect(parsePathTemplate("/v1/{shelf.name=shelves/*}/books/{book}:read")).toEqual({
      text: "/v1/{shelf.name=shelves/*}/books/{book}:read",
      segments: ["v1", "shelves", { wildcard: "*" }, "books", { wildcard: "*" }],
      variables: [
        { fieldPath: ["shelf", "name"], start: 1, end: 3 },
        { fieldPath: ["book"], start: 4, end: 5 },
      ],
      verb: "read",
    });
    expect(parsePathTemplate("/a/{rest=b/**}")).toMatchObject({
      segments: ["a", "b", { wildcard: "**" }],
      variables: [{ fieldPath: ["rest"], start: 1, end: 3 }],
      verb: "",
    });
    expect(parsePathTemplate("/**:x").segments).toEqual([{ wildcard: "**" }]);
    expect(parsePathTemplate("/a:b:c")).toMatchObject({ segments: ["a"], verb: "b:c" });
  });

  it.each([
    "",
    "a",
    "/",
    "//a",
    "/a/",
    "/a//b",
    "/{}",
    "/{a",
    "/a}",
    "/{a=}",
    "/{a=b//c}",
    "/{a={b}}",
    "/{a}b",
    "/a{b}",
    "/a*",
    "/***",
    "/**/a",
    "/{a=**}/b",
    "/{a=**/b}",
    "/{a b}",
    "/{.a}",
    "/{a.}",
    "/{a..b}",
    "/{1a}",
    "/a:",
    "/a:b/c",
  ])("refuses %j", (text) => {
    expect(() => parsePathTemplate(text)).toThrow(`"${text}" is not a path template: `);
  });
});

describe("fillPath", () => {
  it("puts values in their places, percent-encoded", () => {
    expect(fill("/api/v2/network/parameters/{key}", "market.fee/é ?#%")).toBe(
      "/api/v2/network/parameters/market.fee%2F%C3%A9%20%3F%23%25",
    );
    expect(fill("/v1/{a=shelves/*}/books/{b}:read", "shelves/1 2", "x:y")).toBe("/v1/shelves/1%202/books/x%3Ay:read");
    expect(fill("/v1/{a=**}", "x/y z/w")).toBe("/v1/x/y%20z/w");
    expect(fill("/v1/{a=x/**}", "x/y/z")).toBe("/v1/x/y/z");
    expect(fill("/v1/é")).toBe("/v1/%C3%A9");
  });

  it.each([
    ["/v1/{a}", ""],
    ["/v1/{a}", "."],
    ["/v1/{a}", ".."],
    ["/v1/{a=*}", ""],
    ["/v1/{a=**}", ""],
    ["/v1/{a=**}", "x//y"],
    ["/v1/{a=**}", "x/../y"],
    ["/v1/{a=**}", "/x"],
    ["/v1/{a=**}", "x/."],
    ["/v1/{a=shelves/*}", "shelves"],
    ["/v1/{a=shelves/*}", "shelves/"],
    ["/v1/{a=shelves/*}", "shelves/.."],
    ["/v1/{a=shelves/*}", "shelves/1/2"],
    ["/v1/{a=shelves/*}", "books/1"],
    ["/v1/{a=x/**}", "y/z"],
    ["/v1/{a=x}", "y"],
  ])("refuses, in %s, the value %j", (template, value) => {
    expect(() => fill(template, value)).toThrow(
      expect.objectContaining({
        name: "RequestError",
        summary: `a is ${JSON.stringify(value)}, which the path ${template} cannot contain`,
      }),
    );
  });

  it("refuses text that no UTF-8 can hold", () => {
    expect(() => fill("/v1/{a}", "\ud800")).toThrow(expect.objectContaining({ name: "RequestError" }));
  });

  it("refuses a template with a wildcard that no field fills", () => {
    for (const template of ["/v1/*/{a}", "/v1/{a}/*", "/v1/{a}/**"]) {
      expect(() => fill(template, "x")).toThrow(expect.objectContaining({ name: "RequestError" }));
    }
  });
});

describe("matchPath", () => {
  it("gives the text of each variable", () => {
    expect(match("/v1/{a=shelves/*}/books/{b}:read", "/v1/shelves/1%202/books/x%3Ay:read")).toEqual([
      "shelves/1 2",
      "x:y",
    ]);
    expect(match("/v1/{a=**}", "/v1/x/y%2Fz")).toEqual(["x/y/z"]);
    expect(match("/v1/*/{a}", "/v1/anything/x")).toEqual(["x"]);
    expect(match("/v1/**", "/v1/x/y")).toEqual([]);
    expect(match("/v1/**", "/v1")).toEqual([]);
  });

  it.each([
    ["/v1/a", "/v1/b"],
    ["/v1/a", "/v1/a/"],
    ["/v1/a", "/v1"],
    ["/v1/a", "v1/a"],
    ["/v1/a", "/V1/a"],
    ["/v1/{a}", "/v1"],
    ["/v1/{a}", "/v1/x/y"],
    ["/v1/{a}:read", "/v1/x"],
    ["/v1/{a}:read", "/v1/x:write"],
    ["/v1/{a=shelves/*}", "/v1/books/1"],
    ["/v1/{a}/x/**", "/v1/a"],
    ["/v1/{a}", "/v1/%"],
    ["/v1/{a}", "/v1/%ff"],
  ])("does not match %s with %s", (template, path) => {
    expect(match(template, path)).toBeUndefined();
  });
});

describe("fillPath and matchPath", () => {
  // Each part of a template with values that fit it.
  const literal = fc.string({ unit: fc.constantFrom("a", "é", "-", "1", "%", " "), minLength: 1, maxLength: 4 });
  const piece = fc.string({ unit: "binary", minLength: 1, maxLength: 6 }).filter((s) => s !== "." && s !== "..");
  const parts = fc.array(
    piece.filter((s) => !s.includes("/")),
    { minLength: 1, maxLength: 4 },
  );
  type Part = { readonly text: string; readonly value?: string };
  const fixed = literal.map((text): Part => ({ text }));
  const single = fc.tuple(fc.constantFrom("{a}", "{a.b=*}"), piece).map(([text, value]): Part => ({ text, value }));
  const composed = fc
    .tuple(literal, parts)
    .map(([name, [value = ""]]): Part => ({ text: `{c=${name}/*}`, value: `${name}/${value}` }));
  const deep = parts.map((values): Part => ({ text: "{d=**}", value: values.join("/") }));
  const template = fc
    .tuple(
      fc.array(fc.oneof(fixed, single, composed), { minLength: 1, maxLength: 5 }),
      fc.option(deep, { nil: undefined }),
      fc.constantFrom("", ":read"),
    )
    .map(([first, last, verb]) => ({ list: last === undefined ? first : [...first, last], verb }));

  it("are each other's inverse", () => {
    fc.assert(
      fc.property(template, ({ list, verb }) => {
        const parsed = parsePathTemplate(`/${list.map(({ text }) => text).join("/")}${verb}`);
        const values = list.flatMap(({ value }) => (value === undefined ? [] : [value]));
        const path = expandPath(parsed, values);
        expect(path).toMatch(/^[!-~]+$/);
        expect(new URL(path, "http://node.example").pathname).toBe(path);
        expect(matchPath(parsed, path)).toEqual(values);
      }),
      { numRuns: 500 },
    );
  });
});
