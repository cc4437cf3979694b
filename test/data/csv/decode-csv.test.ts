import { describe, expect, test } from "@jest/globals";
import { type CsvRow, csvRecords, csvRows, decodeCsv, ProtocolError } from "tradewire";
import { outcomeOf } from "../../support/csv.js";

const bytes = (text: string) => [Buffer.from(text)];

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

describe("values", () => {
  test.each<[string, string, CsvRow[]]>([
    [
      "NULL and the empty string",
      'a,b\n,""\n"",\n',
      [
        [null, ""],
        ["", null],
      ],
    ],
    ["a column of NULLs", 'a\n\n""\n\n', [[null], [""], [null]]],
    ["commas, quotes and line breaks in quotes", 'a,b\n"1,2","x""y\r\nz\rz\nz"\n', [["1,2", 'x"y\r\nz\rz\nz']]],
    ["values of nothing but quotes", 'a,b\n"""",""""""\n', [['"', '""']]],
    ["spaces as they are", "a,b\n x , \n", [[" x ", " "]]],
    [
      "CRLF as line end",
      'a,b\r\n1,\r\n"2",""\r\n',
      [
        ["1", null],
        ["2", ""],
      ],
    ],
    ["a row that is \\. alone", 'a\n\\.\n"\\."\nx\n', [["\\."], ["\\."], ["x"]]],
    ["characters of one to four bytes", "a\nzé漢😀\n", [["zé漢😀"]]],
    ["U+0000", "a\n\0\n", [["\0"]]],
    ["quoted names", '"a"\n1\n', [["1"]]],
  ])("%s", async (_, text, rows) => {
    expect(await outcomeOf(bytes(text))).toMatchObject({ rows, error: undefined });
  });

  test("a NULL string of one's own", async () => {
    const { rows } = await outcomeOf(bytes('a,b\n\\N,"\\N"\n,""\n\\Nx,x\\N\n'), { nullString: "\\N" });
    expect(rows).toEqual([
      [null, "\\N"],
      ["", ""],
      ["\\Nx", "x\\N"],
    ]);
  });

  test("a name in the header row equal to the NULL string", async () => {
    expect(await outcomeOf(bytes("id\nid\n"), { nullString: "id" })).toEqual({
      columns: ["id"],
      rows: [[null]],
      error: undefined,
    });
  });

  test("names with everything in them", async () => {
    expect(await outcomeOf(bytes('"a,""\nb", c\n1,2\n'))).toMatchObject({
      columns: ['a,"\nb', " c"],
      rows: [["1", "2"]],
    });
  });

  test("an empty table is one batch without rows", async () => {
    expect(await listOf(decodeCsv(bytes("a,b\n")))).toEqual([{ columns: ["a", "b"], rows: [] }]);
  });

  test("a last row without a line end, where that is allowed", async () => {
    const options = { finalNewline: "optional" } as const;
    for (const [text, rows] of [
      ["a,b\n1,2", [["1", "2"]]],
      ["a,b\r\n1,2\r", [["1", "2"]]],
      ['a,b\n1,"2"', [["1", "2"]]],
      ["a,b", []],
      ["a,b\n1,2\n", [["1", "2"]]],
    ] as const) {
      expect(await outcomeOf(bytes(text), options)).toEqual({ columns: ["a", "b"], rows, error: undefined });
    }
  });

  test("rows, values and tables longer than what is read at once", async () => {
    const lines = Array.from(
      { length: 300 },
      (_, n) => `${n},"${"漢,\n".repeat(n * 10)}",${"x".repeat(n)}${n % 2 ? "" : "\r"}\n`,
    );
    const file = Buffer.from(`n,lines,x\n${lines.join("")}`);
    const rows = Array.from({ length: 300 }, (_, n) => [`${n}`, "漢,\n".repeat(n * 10), "x".repeat(n) || null]);
    for (const size of [1000, 65_536, file.length]) {
      const chunks = Array.from({ length: Math.ceil(file.length / size) }, (_, n) =>
        file.subarray(n * size, (n + 1) * size),
      );
      expect(await outcomeOf(chunks)).toEqual({ columns: ["n", "lines", "x"], rows, error: undefined });
    }
  });

  test("one value of many megabytes in many chunks", async () => {
    const part = Buffer.from('""\nabc,'.repeat(128));
    const { rows } = await outcomeOf([
      Buffer.from('a\n"'),
      ...Array.from({ length: 16_384 }, () => part),
      Buffer.from('"\n'),
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.[0] === '"\nabc,'.repeat(128 * 16_384)).toBe(true);
  });
});

describe("records", () => {
  test("have each column as a key of their own, whatever its name", async () => {
    const records = await listOf(csvRecords(bytes('id,__proto__,toString,constructor,b,0\n1,{},,"",5,6\n,,,,,\n')));
    expect(records.map((record) => Object.entries(record))).toEqual([
      [
        ["0", "6"],
        ["id", "1"],
        ["__proto__", "{}"],
        ["toString", null],
        ["constructor", ""],
        ["b", "5"],
      ],
      [
        ["0", null],
        ["id", null],
        ["__proto__", null],
        ["toString", null],
        ["constructor", null],
        ["b", null],
      ],
    ]);
    expect(records.map((record) => Object.getPrototypeOf(record) === Object.prototype)).toEqual([true, true]);
  });

  test("fail as rows do", async () => {
    await expect(listOf(csvRecords(bytes("a\n1,2\n")))).rejects.toBeInstanceOf(ProtocolError);
  });
});

describe("streaming", () => {
  test("asks for a chunk only when the rows before it have been taken, and closes the source", async () => {
    const events: string[] = [];
    async function* source() {
      try {
        for (const chunk of ["a\n1\n", "2\n3", "\n4\n"]) {
          events.push(`gives ${JSON.stringify(chunk)}`);
          yield Buffer.from(chunk);
        }
      } finally {
        events.push("closed");
      }
    }
    for await (const [a] of csvRows(source())) {
      events.push(`takes ${a}`);
      if (a === "3") {
        break;
      }
    }
    expect(events).toEqual([
      'gives "a\\n1\\n"',
      "takes 1",
      'gives "2\\n3"',
      "takes 2",
      'gives "\\n4\\n"',
      "takes 3",
      "closed",
    ]);
  });

  test("gives every row once to a caller that asks without waiting", async () => {
    const rows = csvRows([Buffer.from("a\n1\n2\n"), Buffer.from("3\n"), Buffer.from("4\n5\n")]);
    const results = await Promise.all(Array.from({ length: 7 }, () => rows.next()));
    expect(results.map(({ value }) => value)).toEqual([["1"], ["2"], ["3"], ["4"], ["5"], undefined, undefined]);
  });

  test("gives no more rows after it was closed", async () => {
    const rows = csvRows(bytes("a\n1\n2\n"));
    expect((await rows.next()).value).toEqual(["1"]);
    await rows.return?.();
    expect(await rows.next()).toEqual({ done: true, value: undefined });
  });

  test("does not depend on a chunk once the next one was asked for", async () => {
    const chunk = Buffer.alloc(3);
    function* reused() {
      for (const text of ["a,b", "\n1,", "234", ",5\n"]) {
        chunk.write(text.replace("234,5", "234"));
        yield chunk;
      }
    }
    expect(await outcomeOf(reused())).toMatchObject({ error: expect.stringContaining("line 2, field 3") });
  });

  test("passes on what the source throws", async () => {
    const lost = new Error("lost");
    async function* source() {
      yield Buffer.from("a\n1\n2");
      throw lost;
    }
    expect(await outcomeOf(source())).toEqual({ columns: ["a"], rows: [["1"]], error: "lost" });
  });
});
