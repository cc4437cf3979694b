import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { float8Text, jsonbText, numericText, parseJson, timeText } from "./inside.js";
import { openPostgres, type Postgres } from "./postgres.js";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.close());

/** Many values at once: PostgreSQL is asked once for all of them. */
const sample = <T>(values: fc.Arbitrary<T>) => fc.sample(values, { numRuns: 2000, seed: 11 });

const numbers = sample(
  fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 }).map(String),
    fc
      .tuple(
        fc.constantFrom("", "-", "+"),
        fc.bigInt({ min: 0n, max: 10n ** 25n }),
        fc.bigInt({ min: 0n, max: 10n ** 20n }),
      )
      .map(([sign, whole, fraction]) => `${sign}${whole}.${fraction}`),
    fc.constantFrom(
      "0.5",
      "-0.5",
      "1.5",
      "-1.5",
      "0.49",
      ".5",
      "5.",
      "-0",
      "1e3",
      "12e-18",
      "-0.00000000000000005",
      " 7 ",
    ),
  ),
);

describe("numbers", () => {
  it.each([
    ["numeric", undefined],
    ["numeric(1000,0)", 0],
    ["numeric(1000,16)", 16],
  ] as const)("are those of %s", async (type, scale) => {
    expect(numbers.map((number) => numericText(number, scale))).toEqual(await postgres.ask(`value::${type}`, numbers));
  });

  it("are none where the text is none", () => {
    expect(["", "x", "1e", "0x1", "NaN", "Infinity", "1 2", "--1"].map((text) => numericText(text))).toEqual(
      Array(8).fill(undefined),
    );
  });

  it("are those of float8", async () => {
    const doubles = sample(fc.double({ noNaN: true, min: -(2 ** 53), max: 2 ** 53 }));
    const more = [0, -0, 1e15, 999999999999999, 1e14, 1e-4, 9.9e-5, 1e-5, 5e-324, 1.7976931348623157e308, 0.1, 100];
    const values = [...doubles, ...more];
    const texts = values.map((value) => (Object.is(value, -0) ? "-0" : String(value)));
    expect(values.map(float8Text)).toEqual(await postgres.ask("value::float8", texts));
  });
});

describe("times", () => {
  it("are those of timestamptz, to the microsecond", async () => {
    const microseconds = sample(fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }));
    const all = [...microseconds, 0n, 1n, -1n, 1_697_702_401_100_000n, 1_697_702_401_000_000n, -1_000_000n];
    const expression =
      "timestamptz 'epoch' + value::bigint / 1000000 * interval '1 second' + value::bigint % 1000000 * interval '1 microsecond'";
    expect(all.map((time) => timeText(time * 1000n))).toEqual(await postgres.ask(expression, all.map(String)));
    expect(timeText(1_999n)).toBe("1970-01-01 00:00:00.000001+00");
    expect(timeText(-1n)).toBe("1969-12-31 23:59:59.999999+00");
    expect(timeText(2n ** 63n)).toBe("2262-04-11 23:47:16.854775+00");
    expect(timeText(10n ** 24n)).toBe("9999-12-31 23:59:59.999999+00");
  });
});

describe("JSON", () => {
  it("is that of jsonb", async () => {
    const texts = sample(fc.json({ stringUnit: "grapheme", maxDepth: 4 })).filter((text) => !text.includes("\\u0000"));
    const more = [
      '{"bb":1.0,"a":[1e2,-0,-0.0,1.50,12345678901234567890],"ab":{"é":1,"zz":2,"z":3}}',
      '{"a":1,"a":2}',
      '["\\u00e9\\u001f\\/\\n", " 12 ", "-5"]',
      " [ ] ",
      '""',
    ];
    const all = [...texts, ...more];
    expect(all.map((text) => jsonbText(parseJson(text)))).toEqual(await postgres.ask("value::jsonb", all));
  });
});
