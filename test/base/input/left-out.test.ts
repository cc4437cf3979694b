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
  [
    "a name without a chain",
    archiveName,
    [{ ...name, chainId: undefined }],
    'chainId must be a non-empty string such as "chain-1" (got undefined)',
  ],
  ["a name of no table", csvName, [{ ...name, table: "trade" }], '(got "trade")'],
  [
    "a name without its last block",
    archiveName,
    [{ ...name, toBlock: undefined }],
    "toBlock must be a whole number of at least 0, such as 1000n (got undefined)",
  ],
  [
    "a name before the first block",
    csvName,
    [{ ...name, fromBlock: -1n }],
    "fromBlock must be a whole number of at least 0, such as 1000n (got -1)",
  ],
  [
    "a command of no name",
    commandProblems,
    [{ value: {} }],
    "command.case must be the name of a command, such as orderSubmission (got undefined)",
  ],
  [
    "a misspelt command",
    commandProblems,
    [{ case: "orderSubmision", value: {} }],
    'such as orderSubmission (got "orderSubmision")',
  ],
  [
    "a command without a message",
    commandProblems,
    [{ case: "orderSubmission" }],
    "command.value must be an object (got undefined)",
  ],
  [
    "no archive",
    openArchive,
    [undefined],
    "source must be the path of a file, the archive's bytes, or a stream of them (got undefined)",
  ],
  ["a list as an archive", openArchive, [[new Uint8Array(4)]], "or a stream of them (got an array)"],
  ["texts as an archive", openArchive, [Readable.from(["PK"])], "the stream must contain bytes (got a string)"],
  [
    "an undefined field",
    encodeCsv,
    [["a"], [["x"], [undefined]]],
    "field 1 of row 3 must be a string, or null for NULL (got undefined)",
  ],
  ["a number as a field", encodeCsv, [["a"], [[5]]], "field 1 of row 2 must be a string, or null for NULL (got 5)"],
  ["an object as a row", encodeCsv, [["a"], [{ a: "x" }]], "row 2 must be an array of values (got an object)"],
  ["an object as a version", tableSchema, ["trades", {}], "unknown schema version an object"],
])("%s is refused, and not written as something else", async (_, call, given, said) => {
  const reason = await read(call, ...given).catch((thrown: unknown) => thrown);
  expect(reason).toBeInstanceOf(tradewire.RequestError);
  expect(reason).toHaveProperty("summary", expect.stringContaining(said));
});
