import { mkdirSync } from "node:fs";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { FileError, RequestError } from "tradewire";
import { openJournal } from "../../src/node/journal.js";

let root: string;
let folder: string;
let made = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tradewire-journal-"));
});
afterAll(() => rm(root, { recursive: true }));

const settings = { chainId: "chain-1", segments: 5 };
const block = (height: bigint) => ({
  height,
  time: height * 1_000_000n,
  transactions: [Uint8Array.of(1, 2, Number(height)), new Uint8Array()],
});
const open = (given: object = settings) => openJournal(folder, { ...given });
const newFolder = () => {
  made += 1;
  folder = join(root, String(made));
  mkdirSync(folder);
};

it("gives back the blocks that it was given, in their order", () => {
  newFolder();
  {
    using journal = open();
    expect([...journal.read()]).toEqual([]);
    journal.add(block(1n));
    journal.add(block(2n));
  }
  {
    using journal = open();
    expect([...journal.read()]).toEqual([block(1n), block(2n)]);
    journal.add(block(3n));
  }
  using journal = open();
  expect([...journal.read()]).toEqual([block(1n), block(2n), block(3n)]);
});

it("forgets what comes behind a position", () => {
  newFolder();
  {
    using journal = open();
    journal.add(block(1n));
    const position = journal.position();
    journal.add(block(2n));
    journal.truncate(position);
    journal.add(block(4n));
  }
  using journal = open();
  expect([...journal.read()]).toEqual([block(1n), block(4n)]);
});

it("leaves out a block that a killed process wrote half, and goes on behind the others", async () => {
  newFolder();
  {
    using journal = open();
    journal.add(block(1n));
  }
  await appendFile(join(folder, "blocks.jsonl"), '{"height":"2","time":"2000000","transac');
  {
    using journal = open();
    expect([...journal.read()]).toEqual([block(1n)]);
    journal.add(block(2n));
  }
  using journal = open();
  expect([...journal.read()]).toEqual([block(1n), block(2n)]);
});

it("begins anew where a killed process wrote the first line half, or nothing", async () => {
  for (const begun of ["", '{"chainId":"cha']) {
    newFolder();
    open()[Symbol.dispose]();
    await writeFile(join(folder, "blocks.jsonl"), begun);
    using journal = open();
    expect([...journal.read()]).toEqual([]);
    journal.add(block(1n));
    expect([...journal.read()]).toEqual([block(1n)]);
  }
});

it("reads lines of any length up to the limit, wherever reading begins, and writes none that is longer", () => {
  newFolder();
  const large = (height: bigint, bytes: number) => ({ ...block(height), transactions: [new Uint8Array(bytes)] });
  const blocks = [large(1n, 700_000), block(2n), large(3n, 190_000), large(4n, 0), block(5n)];
  const limits = { maxLineBytes: 1_000_000 };
  {
    using journal = openJournal(folder, settings, limits);
    blocks.forEach(journal.add);
    const before = journal.position();
    expect(() => journal.add(large(6n, 800_000))).toThrow("block 6 needs 1066720 bytes");
    expect(() => journal.add(large(6n, 800_000))).toThrow(RequestError);
    expect(journal.position()).toBe(before);
  }
  using journal = openJournal(folder, settings, limits);
  expect([...journal.read()]).toEqual(blocks);
  const [one] = journal.read();
  expect(one).toEqual(blocks[0]);
  const last = journal.position();
  journal.add(block(6n));
  expect([...journal.read(last)]).toEqual([block(6n)]);
  journal[Symbol.dispose]();
  using narrow = openJournal(folder, settings, { maxLineBytes: 10_000 });
  expect(() => [...narrow.read()]).toThrow(`the line at byte ${narrow.start} exceeds 10000 bytes`);
});

it("tells by a mark whether the same stands before a position", () => {
  newFolder();
  using journal = open();
  journal.add(block(1n));
  const [position, mark] = [journal.position(), journal.fingerprint(journal.position())];
  journal.add(block(2n));
  expect(journal.fingerprint(position)).toBe(mark);
  journal.truncate(journal.start);
  expect(journal.fingerprint(position)).toBeUndefined();
  journal.add(block(3n));
  expect(journal.position()).toBe(position);
  expect(journal.fingerprint(position)).not.toBe(mark);
});

it("refuses a folder of other settings, and leaves it as it is", async () => {
  newFolder();
  open()[Symbol.dispose]();
  const before = await readFile(join(folder, "blocks.jsonl"), "utf8");
  expect(() => open({ ...settings, segments: 6 })).toThrow(RequestError);
  expect(() => open({ ...settings, segments: 6 })).toThrow('other settings: {"chainId":"chain-1","segments":5}');
  expect(await readFile(join(folder, "blocks.jsonl"), "utf8")).toBe(before);
  open()[Symbol.dispose]();
});

it("says where the file was changed", async () => {
  newFolder();
  open()[Symbol.dispose]();
  await appendFile(join(folder, "blocks.jsonl"), '{"height":"1"}\n');
  using journal = open();
  expect(() => [...journal.read()]).toThrow(`the line at byte ${journal.start} is not a block`);
});

it("says which folder it cannot read", async () => {
  await writeFile(join(root, "file"), "");
  expect(() => openJournal(join(root, "file"), settings)).toThrow(FileError);
});

it("writes no more once it is disposed of: its number may be that of another file then", () => {
  newFolder();
  const journal = open();
  journal[Symbol.dispose]();
  const block = { height: 1n, time: 1n, transactions: [] };
  expect(() => journal.add(block)).toThrow("the node of the folder is closed");
  expect(() => journal.truncate(0)).toThrow(RequestError);
});
