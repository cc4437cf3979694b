import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { zipOf } from "../support/archives.js";
import { run } from "../support/command.js";

const OLD = "chain-1-trades-1-1-1000.csv";
const NEW = "chain-1-trades-2-1001-2000.csv";
const ROWS = 50_000;
let folder: string;
const path = (name: string) => join(folder, name);
const save = (name: string, content: string | Uint8Array) => writeFile(path(name), content);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-rows-"));
  const bytes = (csv: string) => Buffer.from(csv);
  await save("one.zip", await zipOf({ [OLD]: bytes('id,note\n1,\n2,""\n3,"a,""b""\r\nc"\n') }, { streamed: true }));
  await save("two.zip", await zipOf({ [OLD]: bytes("id,note\n1,x\n"), [NEW]: bytes("id,fee,note\n2,7,\n") }));
  await save("less.zip", await zipOf({ [OLD]: bytes("id,note\n1,x\n"), [NEW]: bytes("id\n2\n") }));
  await save("empty.zip", await zipOf({ [OLD]: bytes("id,note\n") }));
  await save("hostile.zip", await zipOf({ [OLD]: bytes('id,"no\x1b[2Jte"\n1,\x1b[31m\n') }));
  const large = Array.from({ length: ROWS }, (_, index) => `${index},row number ${index}\n`).join("");
  const archive = await zipOf({ [OLD]: bytes(`id,note\n${large}`) }, { streamed: true });
  await save("large.zip", archive);
  await save("cut.zip", archive.subarray(0, archive.length / 2));
  await save("wrong.zip", await zipOf({ [OLD]: bytes(`id,note\n${large}x\n`) }));
  await save("no.zip", "this is no archive, whatever its name says");
});
afterAll(() => rm(folder, { recursive: true }));

describe("tradewire rows", () => {
  it("prints JSON lines, NULL told from the empty text", async () => {
    expect(await run(["rows", path("one.zip")])).toEqual({
      code: 0,
      err: "",
      out: '{"id":"1","note":null}\n{"id":"2","note":""}\n{"id":"3","note":"a,\\"b\\"\\r\\nc"}\n',
    });
  });

  it.each([
    [[], 'id,note\n1,\n2,""\n3,"a,""b""\r\nc"\n'],
    [["--null", "\\N"], 'id,note\n1,\\N\n2,\n3,"a,""b""\r\nc"\n'],
    [["--null", "2", "--limit", "2"], 'id,note\n1,2\n"2",\n'],
    [["--columns", "note,id", "--limit", "1"], "note,id\n,1\n"],
    [["-n", "1"], "id,note\n1,\n"],
  ])("prints CSV with %j", async (options, out) => {
    expect(await run(["rows", path("one.zip"), "--output", "csv", ...options])).toEqual({ code: 0, err: "", out });
  });

  it("prints an aligned table", async () => {
    const { out } = await run(["rows", path("one.zip"), "--output", "table"]);
    expect(out).toBe('id  note\n 1  NULL\n 2  ""\n 3  a,"b"\\u{d}\\u{a}c\n');
  });

  it("prints nothing that steers a terminal in a table", async () => {
    const { out } = await run(["rows", path("hostile.zip"), "--output", "table"]);
    expect(out).toBe("id  no\\u{1b}[2Jte\n 1  \\u{1b}[31m\n");
  });

  it("prints the header alone of an empty table, and no line in JSON", async () => {
    const print = async (format: string) => (await run(["rows", path("empty.zip"), "--output", format])).out;
    expect([await print("csv"), await print("table"), await print("jsonl")]).toEqual(["id,note\n", "id  note\n", ""]);
    expect(await print("json")).toBe("[]\n");
  });

  it("reads standard input", async () => {
    const outcome = await run(["rows", "-"], { input: await readFile(path("two.zip")) });
    expect(outcome).toEqual({ code: 0, err: "", out: '{"id":"1","note":"x"}\n{"id":"2","fee":"7","note":null}\n' });
  });

  it.each(["rows", "inspect"])("says that standard input is empty: %s", async (command) => {
    expect(await run([command, "-"])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^tradewire: standard input is empty\nCheck the program that writes the archive /),
    });
  });

  it("says what is wrong with the options", async () => {
    const file = path("one.zip");
    for (const [args, code, said] of [
      [[file, "--columns", "id,nothing"], 2, 'unknown column "nothing" in the archive\nValid columns: id, note.\n'],
      [[file, "--columns", "id,id"], 2, "--columns id,id contains a duplicate column name"],
      [[file, "--columns", "id,"], 2, '--columns must be one or more values, separated by commas (got "id,")'],
      [[file, "--columns", "id,noet"], 2, "\nDid you mean note? Valid columns: id, note.\n"],
      [[file, "--limit", "-1"], 2, 'tradewire: --limit must be a positive whole number (got "-1")'],
      [[file, "--limit", "0"], 2, 'tradewire: --limit must be a positive whole number (got "0")'],
      [[file, "-n", "1", "--all"], 2, "cannot be used with"],
      [[file, "--null", "x"], 2, "--null applies only to csv and table"],
      [[file, "--null", ",", "--output", "csv"], 2, 'the NULL string "," cannot be written to a CSV file'],
      [[file, "--output", "xml"], 2, "Allowed choices are table, json, jsonl, csv"],
      [[], 2, "missing required argument 'file'"],
    ] as const) {
      const outcome = await run(["rows", ...args]);
      expect(outcome).toMatchObject({ code, out: "" });
      expect(outcome.err).toContain(said);
    }
  });
});

describe("tradewire rows over a change of the schema", () => {
  it("prints the columns of each file in JSON", async () => {
    expect((await run(["rows", path("two.zip")])).out).toBe(
      '{"id":"1","note":"x"}\n{"id":"2","fee":"7","note":null}\n',
    );
  });

  it("prints the columns of all files in CSV, NULL where a file lacks one", async () => {
    expect((await run(["rows", path("two.zip"), "--output", "csv"])).out).toBe("id,note,fee\n1,x,\n2,,7\n");
    expect((await run(["rows", path("less.zip"), "--output", "csv"])).out).toBe("id,note\n1,x\n2,\n");
  });

  it("prints the columns that it is told to, in every file", async () => {
    expect((await run(["rows", path("two.zip"), "--columns", "fee,id"])).out).toBe(
      '{"fee":null,"id":"1"}\n{"fee":"7","id":"2"}\n',
    );
  });

  it("ends CSV with an error where a stream comes to columns that its header does not have", async () => {
    const input = await readFile(path("two.zip"));
    const outcome = await run(["rows", "-", "--output", "csv"], { input });
    expect(outcome).toMatchObject({ code: 1, out: 'id,note\n1,x\n"' });
    expect(outcome.err).toContain(`"${NEW}" has columns that are not in the header: fee\n`);
    const named = await run(["rows", "-", "--output", "csv", "--columns", "id"], { input });
    expect(named).toEqual({ code: 0, err: "", out: "id\n1\n2\n" });
    const unknown = await run(["rows", "-", "--columns", "fee"], { input });
    expect(unknown).toMatchObject({ code: 2, out: "" });
    expect(unknown.err).toContain(`unknown column "fee" in "${OLD}"\n`);
  });
});

describe("tradewire rows with a large archive", () => {
  it.each(["jsonl", "csv", "table"])("prints every row as %s", async (format) => {
    const { code, out } = await run(["rows", path("large.zip"), "--output", format]);
    expect(code).toBe(0);
    expect(out.split("\n")).toHaveLength(ROWS + (format === "jsonl" ? 1 : 2));
    expect(out).toContain(`row number ${ROWS - 1}`);
  });

  it("does not come to what is broken behind its limit", async () => {
    expect(await run(["rows", path("wrong.zip"), "--limit", "2"])).toMatchObject({ code: 0, err: "" });
  });
});

describe("tradewire rows with a broken archive", () => {
  it("prints the rows so far, then the error", async () => {
    const outcome = await run(["rows", path("wrong.zip")]);
    expect(outcome.code).toBe(1);
    expect(outcome.out.split("\n")).toHaveLength(ROWS + 1);
    expect(outcome.err).toContain(OLD);
    expect(outcome.err).toContain(`line ${ROWS + 2}`);
  });

  it("that is cut short prints the rows so far of a stream, then the error", async () => {
    const outcome = await run(["rows", "-"], { input: await readFile(path("cut.zip")) });
    expect(outcome.code).toBe(1);
    expect(outcome.out.startsWith('{"id":"0","note":"row number 0"}\n')).toBe(true);
    expect(outcome.out.endsWith("}\n")).toBe(true);
    expect(outcome.err).toMatch(/^tradewire: .+\n.+\n$/);
    expect(await run(["rows", path("cut.zip")])).toMatchObject({ code: 1, err: expect.stringMatching(/^tradewire: /) });
  });

  it.each([
    ["no.zip", /^tradewire: .+\n.+\n$/],
    ["nothing.zip", /nothing\.zip: file not found\nCheck the path\.\n$/],
    [".", /: is a folder\nEnter the path of a file\.\n$/],
  ])("refuses %s", async (name, said) => {
    const outcome = await run(["rows", path(name)]);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(said);
  });
});
