import { Readable } from "node:stream";
import { expect, it } from "@jest/globals";
import * as tradewire from "tradewire";

/** Call a function as plain JavaScript may, and read all of what it gives. */
async function read(call: object, ...given: unknown[]): Promise<unknown> {
  const value = Reflect.apply(Object(call), tradewire, given);
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const found = [];
  for await (const each of "rows" in value ? Object(value).rows() : value) {
    found.push(each);
  }
  return found;
}

const { archiveName, commandProblems, csvName, encodeCsv, openArchive, tableSchema } = tradewire;
const name = { chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n };

it.each<[string, object, unknown[], string]>([
  ["a name without a chain", archiveName, [{ ...name, chainId: undefined }], "chainId is undefined"],
  ["a name of no table", csvName, [{ ...name, table: "trade" }], 'table is "trade"'],
  ["a name without its last block", archiveName, [{ ...name, toBlock: undefined }], "toBlock is undefined"],
  ["a name before the first block", csvName, [{ ...name, fromBlock: -1n }], "fromBlock is -1"],
  ["a command of no name", commandProblems, [{ value: {} }], "command.case is undefined"],
  ["a misspelt command", commandProblems, [{ case: "orderSubmision", value: {} }], 'command.case is "orderSubmision"'],
  ["a command without a message", commandProblems, [{ case: "orderSubmission" }], "command.value is undefined"],
  ["no archive", openArchive, [undefined], "the source is undefined"],
  ["a list as an archive", openArchive, [[new Uint8Array(4)]], "the source is an object"],
  [
    "texts as an archive",
    openArchive,
    [Readable.from(["PK"])],
    "the stream: the source gave a string where bytes were",
  ],
  ["an undefined field", encodeCsv, [["a"], [["x"], [undefined]]], "field 1 of row 3 is undefined"],
  ["a number as a field", encodeCsv, [["a"], [[5]]], "field 1 of row 2 is 5"],
  ["an object as a row", encodeCsv, [["a"], [{ a: "x" }]], "row 2 is an object"],
  ["an object as a version", tableSchema, ["trades", {}], "an object is no version of the database schema"],
])("%s is refused, and not written as something else", async (_, call, given, said) => {
  const reason = await read(call, ...given).catch((thrown: unknown) => thrown);
  expect(reason).toBeInstanceOf(tradewire.RequestError);
  expect(reason).toHaveProperty("summary", expect.stringContaining(said));
});
