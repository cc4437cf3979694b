import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createTables } from "../../src/cli/table.js";

const output = { role: "rows", isBegun: false, failure: undefined, fail: () => undefined } as const;

test("a table of many rows is written no faster than it is read, and is the same as in one piece", async () => {
  const header = ["from", "to"];
  const rows = Array.from({ length: 100_000 }, (_, at) => [String(at * 1000 + 1), String((at + 1) * 1000)]);
  const out = new PassThrough();
  const { signal } = new AbortController();
  const tables = createTables({ out, notes: new PassThrough(), environment: {} });
  const writing = tables.write({ out, output, signal }, header, rows);
  for (let count = 0; count < 100; count += 1) {
    await turn();
  }
  expect(out.readableLength + out.writableLength).toBeGreaterThan(0);
  expect(out.readableLength + out.writableLength).toBeLessThan(200_000); // The whole has two million characters.
  const parts: Buffer[] = [];
  out.on("data", (part: Buffer) => parts.push(part));
  await writing;
  expect(Buffer.concat(parts).toString()).toBe(tables.format(header, rows));
});

test("a table of many rows ends with the signal", async () => {
  const out = new PassThrough();
  const abort = new AbortController();
  const rows = Array.from({ length: 100_000 }, (_, at) => [String(at)]);
  const writing = createTables({ out, notes: new PassThrough(), environment: {} }).write(
    { out, output, signal: abort.signal },
    ["n"],
    rows,
  );
  abort.abort();
  await expect(writing).rejects.toThrow(/abort/i);
});

test("fits indented tables of one output, and says once what of all of them does not fit", async () => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 38 });
  const notes = new PassThrough();
  const tables = createTables({ out, notes, environment: {} });
  const ID = "0123456789abcdef0123456789abcdef";
  const rows = [
    [ID, "7", "値段が高い"],
    ["short", "1234", "low"],
  ];
  const lines = tables.format(["id", "size", "note"], rows, { ranked: ["note"], indent: "    " }).split("\n");
  expect(lines[1]).toBe(`    ${ID.slice(0, 21)}…  値段が高い`);
  tables.format(["long id", "kind"], [[ID, ID]]);
  tables.printOmissions();
  notes.end();
  expect(await text(notes)).toBe(
    "Columns hidden to fit the terminal:\nsize, kind. Long values are shortened.\nUse --json to print all.\n",
  );
});
