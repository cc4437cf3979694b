import { constants } from "node:buffer";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type CsvDecodeOptions, ProtocolError } from "tradewire";
import { checkedCsv } from "../../../src/data/csv/check-csv.js";
import { cuts, encoded, outcomeOf, split, table } from "../../support/csv.js";
import { given } from "../../support/taken.js";
import { runs } from "../../support/tier.js";

/** What passed, what was counted, and the error's message if there was one. */
async function passing(parts: Iterable<Buffer>, options: CsvDecodeOptions = {}) {
  const checked = checkedCsv(given(parts), { name: "x.csv", ...options });
  const passed: Uint8Array[] = [];
  try {
    for (;;) {
      const part = await checked.next();
      if (part.done === true) {
        return { text: Buffer.concat(passed).toString(), ...part.value, error: undefined };
      }
      passed.push(part.value);
    }
  } catch (error) {
    if (error instanceof ProtocolError) {
      return { text: Buffer.concat(passed).toString(), rows: undefined, error: error.summary, code: error.code };
    }
    throw error;
  }
}

const eachByte = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.of(byte));

/** A file at once and byte by byte, which must come to the same. */
async function outcome(text: string | Buffer, options: CsvDecodeOptions = {}) {
  const bytes = Buffer.from(text);
  const whole = await passing([bytes], options);
  const { error, rows } = await passing(eachByte(bytes), options);
  expect({ error, rows }).toEqual({ error: whole.error, rows: whole.rows });
  return whole;
}

/** Files near the edge of what the decoder accepts. */
const nearly = fc
  .tuple(
    fc.constantFrom("a\n", "a,b\r\n", '"a\n",b\n', '"a"",",b\n'),
    fc.array(fc.constantFrom(..."ab,\n\n\r", '"', '"', '""', '"\n"', "1,2\n", '"1",\n', "\r\n", "é"), {
      maxLength: 10,
    }),
  )
  .map(([header, parts]) => Buffer.from(header + parts.join("")));

describe("a file that passes", () => {
  test.each<[string, string, number]>([
    ["an empty table", "a,b\n", 0],
    ["rows", "a,b\n1,\n2,\n", 2],
    ["CRLF as line end", "a\r\n1\r\n2\r\n", 2],
    ["line breaks in quotes", 'a,b\n"1\n2","\r\n\n"\n3,4\n', 2],
    ["a quoted header row with line breaks", '"a\n1","b"\n1,2\n', 1],
    ["doubled quotes", 'a\n""""\n"""\n"""\n"x""\n"\n""\n', 4],
    ["empty rows of one column", "a\n\n\n", 2],
    ["characters of one to four bytes", "a\nzé漢😀\n", 1],
  ])("is counted: %s", async (_, text, rows) => {
    expect(await outcome(text)).toEqual({ text, rows, bytes: Buffer.byteLength(text), error: undefined });
  });

  test("may go without the last line end where that is allowed", async () => {
    for (const [text, rows] of [
      ["a\n1", 1],
      ["a\n1\n", 1],
      ["a", 0],
      ['a\n"1"', 1],
    ] as const) {
      expect(await outcome(text, { finalNewline: "optional" })).toMatchObject({ rows, error: undefined });
    }
    expect((await outcome('a\n"1', { finalNewline: "optional" })).error).toContain("inside a quoted field");
  });

  test("has as many rows as the decoder gives, wherever it is split", async () => {
    await fc.assert(
      fc.asyncProperty(table, cuts, fc.boolean(), async (written, parts, isLong) => {
        const rows = isLong ? Array.from({ length: 40 }, () => written.rows).flat() : written.rows;
        const bytes = await encoded({ columns: written.columns, rows });
        expect(await passing(split(bytes, parts))).toEqual({
          text: bytes.toString(),
          rows: rows.length,
          bytes: bytes.length,
          error: undefined,
        });
      }),
      { numRuns: runs(1000) },
    );
  });

  test("is every file that the decoder accepts, with the same rows", async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        nearly,
        cuts,
        fc.constantFrom("required" as const, "optional" as const),
        fc.integer({ min: 5, max: 40 }),
        async (bytes, parts, finalNewline, maxRowBytes) => {
          const options = { finalNewline, maxRowBytes };
          const decoded = await outcomeOf([bytes], options);
          const { rows, error } = await passing(split(bytes, parts), options);
          if (decoded.error === undefined) {
            accepted += 1;
            expect([error, rows]).toEqual([undefined, decoded.rows.length]);
          }
          expect(await passing(eachByte(bytes), options)).toMatchObject({ rows, error });
        },
      ),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(80);
  });
});

describe("a file that does not pass", () => {
  test.each<[string, string | Buffer, string]>([
    ["nothing", "", "x.csv, the header row: the file is empty"],
    ["cut in a row", "a,b\n1,2\n1,", "x.csv, row 2: the file ends in the middle of a row"],
    ["cut behind a row's first byte", "a,b\n1,2\n3", "x.csv, row 2: the file ends in the middle of a row"],
    ["cut in the header row", "a,b", "x.csv, the header row: the file ends in the middle of a row"],
    ["cut in quotes", 'a,b\n"1\n\n', "x.csv, row 1: the file ends inside a quoted field"],
    ["cut in a character", Buffer.from("a\n1\né").subarray(0, -1), "x.csv, row 2: bytes that are not UTF-8"],
    ["Latin-1", Buffer.from("a\n1\n2é\n", "latin1"), "x.csv, row 2: bytes that are not UTF-8"],
    ["a byte that is in no character", Buffer.from("610a310aff", "hex"), "x.csv, row 2: bytes that are not UTF-8"],
    ["an overlong character", Buffer.from("610a310ae080800a", "hex"), "x.csv, row 2: bytes that are not UTF-8"],
    ["half of a pair", Buffer.from("610aeda0800a", "hex"), "x.csv, row 1: bytes that are not UTF-8"],
  ])("%s", async (_, text, error) => {
    expect(await outcome(text)).toMatchObject({ error, code: Code.DataLoss });
  });

  test("has a row over the limit", async () => {
    const options = { maxRowBytes: 8 };
    const row = (size: number) => `a\n1\n"${"\n".repeat(size - 3)}"\n2\n`;
    expect(await outcome(row(8), options)).toMatchObject({ rows: 3, error: undefined });
    const error = "x.csv, row 2: the row exceeds 8 bytes";
    expect(await outcome(row(9), options)).toMatchObject({ error, code: Code.ResourceExhausted });
    expect(await outcome("a\n1\n12345678", options)).toMatchObject({ error, code: Code.ResourceExhausted });
    const endless = (function* () {
      yield Buffer.from("a\n");
      for (;;) {
        yield Buffer.from("1,1");
      }
    })();
    expect((await passing(endless, options)).error).toBe("x.csv, row 1: the row exceeds 8 bytes");
    await expect(passing([], { maxRowBytes: constants.MAX_STRING_LENGTH + 1 })).rejects.toThrow(
      "maxRowBytes must be a whole number of bytes",
    );
  });

  test("is UTF-8 or not, wherever it is split", async () => {
    await fc.assert(
      fc.asyncProperty(table, fc.nat(), fc.nat(255), cuts, async (written, at, byte, parts) => {
        const bytes = await encoded(written);
        bytes[at % bytes.length] = byte;
        const isRight = Buffer.from(bytes.toString()).equals(bytes);
        const { error = "" } = await passing(split(bytes, parts));
        expect(error.includes("not UTF-8")).toBe(!isRight);
        expect((await passing(eachByte(bytes))).error ?? "").toBe((await passing([bytes])).error ?? "");
      }),
      { numRuns: runs(1000) },
    );
  });
});
