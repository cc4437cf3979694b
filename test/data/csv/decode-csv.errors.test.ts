import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { csvRows, decodeCsv, ProtocolError, RequestError } from "tradewire";
import { outcomeOf } from "../../support/csv.js";

const bytes = (text: string) => [Buffer.from(text)];

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

describe("mistakes", () => {
  const file = "a,price\n1,2\n";
  test.each<[string, string | Buffer, string]>([
    [
      "a quote in an unquoted field",
      `${file}1,2"3\n`,
      'line 3, field 2 (column "price"): a quote inside an unquoted field',
    ],
    ["text after a closing quote", `${file}"1"x,2\n`, 'line 3, field 1 (column "a"): text after a closing quote'],
    ["a space after a closing quote", `${file}"1" ,2\n`, 'line 3, field 1 (column "a"): text after a closing quote'],
    ["too few fields", `${file}1\n`, 'line 3, field 2 (column "price"): the row has only 1 of 2 fields'],
    ["an empty line", `${file}\n1,2\n`, 'line 3, field 2 (column "price"): the row has only 1 of 2 fields'],
    ["too many fields", `${file}1,2,3\n`, "line 3, field 3: the row has more than 2 fields"],
    ["too many fields, one quoted", `${file}1,"2",3\n`, "line 3, field 3: the row has more than 2 fields"],
    ["too many fields in a table of one column", "a\n1,2\n", "line 2, field 2: the row has more than 1 field"],
    [
      "a carriage return in an unquoted field",
      `${file}1\r2,3\n`,
      'line 3, field 1 (column "a"): a carriage return without a line feed',
    ],
    ["carriage returns as line ends", "a,b\r1,2\r", "line 1, field 2: a carriage return without a line feed"],
    [
      "a carriage return after a quote",
      `${file}1,"2"\r3\n`,
      'line 3, field 2 (column "price"): a carriage return without a line feed',
    ],
    [
      "an open quote",
      `${file}1,"2\n3,4\n5`,
      'line 3, field 2 (column "price"): the file ends inside the quoted field that starts here',
    ],
    [
      "an open quote after a doubled one",
      `${file}1,"2""\n`,
      'line 3, field 2 (column "price"): the file ends inside the quoted field that starts here',
    ],
    ["an end inside a value", `${file}1,2\n3`, 'line 4, field 1 (column "a"): the file ends in the middle of a row'],
    ["an end after a comma", `${file}3,`, 'line 3, field 2 (column "price"): the file ends in the middle of a row'],
    [
      "an end after a closing quote",
      `${file}3,"4"`,
      'line 3, field 2 (column "price"): the file ends in the middle of a row',
    ],
    [
      "an end between CR and LF",
      `${file}3,4\r`,
      'line 3, field 2 (column "price"): the file ends in the middle of a row',
    ],
    [
      "an end inside a character",
      Buffer.from(`${file}3,漢`).subarray(0, -1),
      'line 3, field 2 (column "price"): the file ends in the middle of a row',
    ],
    ["an end inside the header", "a,pri", "line 1, field 2: the file ends in the middle of a row"],
    [
      "bytes that are not UTF-8",
      Buffer.from(`${file}3,é\n`, "latin1"),
      'line 3, field 2 (column "price"): bytes that are not UTF-8',
    ],
    [
      "such bytes at the start of a row",
      Buffer.from(`${file}\xff3,4\n`, "latin1"),
      'line 3, field 1 (column "a"): bytes that are not UTF-8',
    ],
    ["such bytes in the header row", Buffer.from("a,\xff\n", "latin1"), "line 1, field 2: bytes that are not UTF-8"],
    [
      "half of a surrogate pair",
      Buffer.from([0x61, 0x0a, 0xed, 0xa0, 0x80, 0x0a]),
      'line 2, field 1 (column "a"): bytes that are not UTF-8',
    ],
    ["no header row", "", "line 1, field 1: the file is empty"],
    ["an empty name", "a,,b\n", "line 1, field 2: a column without a name"],
    ["an empty quoted name", '""\n', "line 1, field 1: a column without a name"],
    ["an empty first line", "\na\n", "line 1, field 1: a column without a name"],
    ["a name given twice", 'a,b,"a"\n', 'line 1, field 3 (column "a"): duplicate column name'],
    [
      "lines counted inside quotes",
      'a,b\n"1\n2\r\n3",4\n5,"6\n7"x\n',
      'line 6, field 2 (column "b"): text after a closing quote',
    ],
  ])("%s", async (_, text, message) => {
    const result = outcomeOf([Buffer.from(text)], { name: "trades.csv" });
    expect((await result).error?.split("\n")[0]).toBe(`trades.csv, ${message}`);
  });

  test("are protocol errors that mean lost data and say what was expected", async () => {
    const failure = listOf(csvRows(bytes('a\n1\n"2"x\n')));
    await expect(failure).rejects.toBeInstanceOf(ProtocolError);
    await expect(failure).rejects.toMatchObject({
      code: Code.DataLoss,
      summary: 'CSV, line 3, field 1 (column "a"): text after a closing quote',
      advice: "Expected a comma or a line end. A quote that belongs to the value must be doubled.",
    });
  });

  test("come after the rows before them", async () => {
    expect(await outcomeOf(bytes('a,b\n1,2\n3,4\n5,"6'))).toMatchObject({
      columns: ["a", "b"],
      rows: [
        ["1", "2"],
        ["3", "4"],
      ],
    });
  });

  test("name long columns in short and on one line", async () => {
    const { error } = await outcomeOf(bytes(`"${"x\n".repeat(100)}"\n"1"x\n`));
    expect(error?.split("\n")[0]).toBe(
      `CSV, line 102, field 1 (column "${"x\\n".repeat(40)}…"): text after a closing quote`,
    );
  });

  test("more columns than PostgreSQL lets a query have", async () => {
    const header = (count: number) => `${Array.from({ length: count }, (_, index) => `c${index}`).join(",")}\n`;
    expect((await outcomeOf(bytes(header(1664)))).columns).toHaveLength(1664);
    await expect(listOf(csvRows(bytes(header(1665))))).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      summary: "CSV, line 1, field 1665: the header row exceeds the limit of 1664 columns",
    });
  });

  test("rows over the limit, where they get too long", async () => {
    const tooLong = {
      code: Code.ResourceExhausted,
      summary: 'CSV, line 2, field 2 (column "b"): the row exceeds 8 bytes',
    };
    for (const text of ["a,b\n12,45678\n", 'a,b\n12,"4\n678"\n', "a,b\n12,45678", "a,b\n12,漢漢\n"]) {
      await expect(listOf(csvRows(bytes(text), { maxRowBytes: 8 }))).rejects.toMatchObject(tooLong);
    }
    expect(await listOf(csvRows(bytes("a,b\n12,4567\n"), { maxRowBytes: 8 }))).toEqual([["12", "4567"]]);
  });

  test("an open quote in an endless file ends at the limit", async () => {
    function* endless() {
      yield Buffer.from('a\n"');
      for (;;) {
        yield Buffer.alloc(65_536, "1,2\n");
      }
    }
    await expect(listOf(csvRows(endless(), { maxRowBytes: 2 ** 20 }))).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });

  test("options that cannot be right, at once", () => {
    for (const nullString of [",", '"', "\r", "a\nb"]) {
      expect(() => decodeCsv([], { nullString })).toThrow(RequestError);
    }
    for (const maxRowBytes of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => csvRows([], { maxRowBytes })).toThrow(/maxRowBytes/);
    }
  });

  test("a source of texts", async () => {
    const source: Iterable<Uint8Array> = Object.values<Uint8Array>(JSON.parse('["a\\n"]'));
    await expect(listOf(csvRows(source))).rejects.toThrow("CSV must contain bytes (got a string)");
  });
});
