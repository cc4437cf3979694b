import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cuts, encoded, nullString, outcomeOf, split, table } from "../../support/csv.js";
import { runs } from "../../support/tier.js";

const limits = fc.record({
  maxRowBytes: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
  finalNewline: fc.constantFrom("required" as const, "optional" as const),
});

test("decoding undoes encoding, wherever the bytes are split", async () => {
  await fc.assert(
    fc.asyncProperty(table, nullString, cuts, async (written, nullText, parts) => {
      const bytes = await encoded(written, nullText);
      expect(await outcomeOf(split(bytes, parts), { nullString: nullText })).toEqual({ ...written, error: undefined });
    }),
    { numRuns: runs(500) },
  );
});

test("the same bytes give the same rows and the same error, wherever they are split", async () => {
  const anything = fc.oneof(
    fc
      .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...Buffer.from('a,"\n\r\\.é漢')) }, fc.nat(255)), {
        maxLength: 80,
      })
      .map((bytes) => Buffer.from(bytes)),
    fc
      .string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r\n", "\r", "é", "😀"), maxLength: 60 })
      .map((mess) => Buffer.from(`x,y\n1,2\n"3",""\n${mess}`)),
  );
  await fc.assert(
    fc.asyncProperty(anything, limits, cuts, async (bytes, options, parts) => {
      const whole = await outcomeOf([bytes], options);
      expect(await outcomeOf(split(bytes, parts), options)).toEqual(whole);
      expect(
        await outcomeOf(
          Array.from(bytes, (byte) => Buffer.of(byte)),
          options,
        ),
      ).toEqual(whole);
    }),
    { numRuns: runs(1500) },
  );
});

test("a file cut anywhere gives an error, unless it is cut between rows, and never a row that was not there", async () => {
  await fc.assert(
    fc.asyncProperty(table, cuts, async (written, parts) => {
      const bytes = await encoded(written);
      const starts: number[] = [];
      for (let rows = 0; rows <= written.rows.length; rows++) {
        starts.push((await encoded({ columns: written.columns, rows: written.rows.slice(0, rows) })).length);
      }
      for (let length = 0; length < bytes.length; length++) {
        const { rows, error } = await outcomeOf(split(bytes.subarray(0, length), parts));
        const whole = starts.filter((start) => start <= length).length;
        expect(rows).toEqual(written.rows.slice(0, Math.max(0, whole - 1)));
        expect(error === undefined).toBe(starts.includes(length));
      }
    }),
    { numRuns: runs(40) },
  );
});

test("a damaged file gives rows of the right width and ends", async () => {
  await fc.assert(
    fc.asyncProperty(table, fc.nat(), fc.nat(255), cuts, async (written, at, byte, parts) => {
      const bytes = await encoded(written);
      bytes[at % bytes.length] = byte;
      const { columns, rows } = await outcomeOf(split(bytes, parts), { maxRowBytes: 1000 });
      expect(rows.every((row) => row.length === columns?.length)).toBe(true);
    }),
    { numRuns: runs(1000) },
  );
});
