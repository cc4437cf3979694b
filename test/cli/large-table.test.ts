import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { fitTable } from "../../src/cli/table.js";
import { createTables } from "../../src/cli/terminal.js";

test("a table of many rows is written no faster than it is read, and is the same as in one piece", async () => {
  const header = ["from", "to"];
  const rows = Array.from({ length: 100_000 }, (_, at) => [String(at * 1000 + 1), String((at + 1) * 1000)]);
  const out = new PassThrough();
  const { signal } = new AbortController();
  const writing = createTables({ out, notes: new PassThrough(), environment: {} }).write({ out, signal }, header, rows);
  for (let count = 0; count < 100; count += 1) {
    await turn();
  }
  expect(out.readableLength + out.writableLength).toBeGreaterThan(0);
  expect(out.readableLength + out.writableLength).toBeLessThan(200_000); // The whole has two million characters.
  const parts: Buffer[] = [];
  out.on("data", (part: Buffer) => parts.push(part));
  await writing;
  expect(Buffer.concat(parts).toString()).toBe(fitTable(header, rows).text);
});

test("a table of many rows ends with the signal", async () => {
  const out = new PassThrough();
  const abort = new AbortController();
  const rows = Array.from({ length: 100_000 }, (_, at) => [String(at)]);
  const writing = createTables({ out, notes: new PassThrough(), environment: {} }).write(
    { out, signal: abort.signal },
    ["n"],
    rows,
  );
  abort.abort();
  await expect(writing).rejects.toThrow(/abort/i);
});
