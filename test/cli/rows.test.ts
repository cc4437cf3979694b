import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { zipOf } from "../support/archives.js";
import { main, run, shell } from "../support/command.js";
import { hasScript, onTerminal } from "../support/terminal.js";

const OLD = "chain-1-trades-1-1-1000.csv";
const NEW = "chain-1-trades-2-1001-2000.csv";
const ROWS = 50_000;
/** What makes letters bold, and plain again. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[\\d*m`, "g");

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

/** Wait until a process has a file open, which Linux tells, or for some seconds. */
async function opened(pid: number, file: string): Promise<void> {
  const until = performance.now() + 10_000;
  const isOpen = async () => {
    const folder = `/proc/${pid}/fd`;
    const links = (await readdir(folder).catch(() => [])).map((fd) => readlink(join(folder, fd)).catch(() => ""));
    return (await Promise.all(links)).includes(await realpath(file));
  };
  while (performance.now() < until && !(await isOpen())) {
    await setTimeout(50);
  }
}

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
    [["--limit", "0"], "id,note\n"],
  ])("prints CSV with %j", async (options, out) => {
    expect(await run(["rows", path("one.zip"), "--format", "csv", ...options])).toEqual({ code: 0, err: "", out });
  });

  it("prints an aligned table", async () => {
    const { out } = await run(["rows", path("one.zip"), "--format", "table"]);
    expect(out).toBe('id  note\n 1  NULL\n 2  ""\n 3  a,"b"\\u{d}\\u{a}c\n');
  });

  (hasScript ? it : it.skip)("prints a table on a terminal, without being told to", async () => {
    const written = await onTerminal(folder, 80, 24, ["rows", "one.zip"]);
    expect(written.replaceAll(STYLE, "").split("\r\n").slice(0, 2)).toEqual(["id  note", " 1  NULL"]);
    expect(written).not.toContain("To fit the terminal");
    expect(await onTerminal(folder, 12, 24, ["rows", "one.zip"])).toContain("To fit the terminal, ");
  });

  it("prints nothing that steers a terminal in a table", async () => {
    const { out } = await run(["rows", path("hostile.zip"), "--format", "table"]);
    expect(out).toBe("id  no\\u{1b}[2Jte\n 1  \\u{1b}[31m\n");
  });

  it("prints the header alone of an empty table, and no line in JSON", async () => {
    const print = async (format: string) => (await run(["rows", path("empty.zip"), "--format", format])).out;
    expect([await print("csv"), await print("table"), await print("jsonl")]).toEqual(["id,note\n", "id  note\n", ""]);
  });

  it("reads standard input", async () => {
    const outcome = await shell("cat two.zip | tradewire rows -", [], folder);
    expect(outcome).toEqual({ code: 0, err: "", out: '{"id":"1","note":"x"}\n{"id":"2","fee":"7","note":null}\n' });
  });

  it("says what is wrong with the options", async () => {
    const file = path("one.zip");
    for (const [args, code, said] of [
      [[file, "--columns", "id,nothing"], 2, 'there is no column "nothing" in the archive\nChoose from: id, note.\n'],
      [[file, "--columns", "id,id"], 2, "--columns id,id names a column twice"],
      [[file, "--columns", "id,"], 2, "--columns id, names a column twice, or none between"],
      [[file, "--limit", "-1"], 2, '"-1" is no whole number'],
      [[file, "--null", "x"], 2, "--null is for csv and table"],
      [[file, "--null", ",", "--format", "csv"], 2, 'the NULL string "," cannot stand in a CSV file'],
      [[file, "--format", "xml"], 2, "Allowed choices are jsonl, csv, table"],
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
    expect((await run(["rows", path("two.zip"), "--format", "csv"])).out).toBe("id,note,fee\n1,x,\n2,,7\n");
    expect((await run(["rows", path("less.zip"), "--format", "csv"])).out).toBe("id,note\n1,x\n2,\n");
  });

  it("prints the columns that it is told to, in every file", async () => {
    expect((await run(["rows", path("two.zip"), "--columns", "fee,id"])).out).toBe(
      '{"fee":null,"id":"1"}\n{"fee":"7","id":"2"}\n',
    );
  });

  it("ends CSV with an error where a stream comes to columns that its header does not have", async () => {
    const outcome = await shell("tradewire rows - --format csv < two.zip", [], folder);
    expect(outcome).toMatchObject({ code: 1, out: 'id,note\n1,x\n"' });
    expect(outcome.err).toContain(
      `"${NEW}" has columns that the files before it, and so the header, do not have: fee\n`,
    );
    const named = await shell("tradewire rows - --format csv --columns id < two.zip", [], folder);
    expect(named).toEqual({ code: 0, err: "", out: "id\n1\n2\n" });
    const unknown = await shell("tradewire rows - --columns fee < two.zip", [], folder);
    expect(unknown).toMatchObject({ code: 2, out: "" });
    expect(unknown.err).toContain(`there is no column "fee" in "${OLD}"\n`);
  });
});

describe("tradewire rows with a large archive", () => {
  it.each(["jsonl", "csv", "table"])("prints every row as %s", async (format) => {
    const { code, out } = await run(["rows", path("large.zip"), "--format", format]);
    expect(code).toBe(0);
    expect(out.split("\n")).toHaveLength(ROWS + (format === "jsonl" ? 1 : 2));
    expect(out).toContain(`row number ${ROWS - 1}`);
  });

  it.each(["large.zip", "- < large.zip"])("ends quietly where its reader has had enough: %s", async (input) => {
    const script = `{ tradewire rows ${input}; echo "exit $?" >&2; } | head -1`;
    expect(await shell(script, [], folder)).toEqual({
      code: 0,
      out: '{"id":"0","note":"row number 0"}\n',
      err: "exit 0\n",
    });
  });

  it("stops reading at the limit", async () => {
    const script = "mkfifo late; { cat large.zip; exec sleep 20; } > late & tradewire rows - --limit 1 < late; kill $!";
    const { out } = await shell(script, [], folder);
    expect(out).toBe('{"id":"0","note":"row number 0"}\n');
    // Nor does it come to what is broken behind.
    expect(await run(["rows", path("wrong.zip"), "--limit", "2"])).toMatchObject({ code: 0, err: "" });
  });

  it("ends with 130 on Ctrl-C while its reader is slow", async () => {
    const child = spawn(process.execPath, [main, "rows", path("large.zip")], { stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "readable"); // Nothing more is read.
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    child.stdout.destroy();
  });

  it.each([
    ["rows", "without a writer", ""],
    ["rows", "with a silent writer", "exec sleep 60 > pipe"],
    ["submit", "without a writer", ""],
    ["submit", "with a silent writer", "exec sleep 60 > pipe"],
  ])("ends with 130 on Ctrl-C while its input is a named pipe: %s, %s", async (command, _, writing) => {
    const cwd = await mkdtemp(join(folder, "pipe-"));
    await promisify(execFile)("mkfifo", [join(cwd, "pipe")]);
    const writer = spawn("sh", ["-c", writing], { cwd });
    const child = spawn(process.execPath, [main, command, "pipe"], { cwd, stdio: ["ignore", "ignore", "pipe"] });
    const said = text(child.stderr);
    await opened(child.pid ?? 0, join(cwd, "pipe"));
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    expect(await said).toBe("");
    writer.kill();
  });

  it("reads a named pipe and a process's output as it reads a file", async () => {
    const script = "mkfifo fifo; cat one.zip > fifo & tradewire rows fifo; cat one.zip | tradewire rows /dev/stdin";
    const { out } = await run(["rows", path("one.zip")]);
    expect(await shell(script, [], folder)).toEqual({ code: 0, err: "", out: `${out}${out}` });
  });

  it("ends with 130 on Ctrl-C while its input is slow", async () => {
    const child = spawn(process.execPath, [main, "rows", "-"], { stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.on("error", () => undefined);
    child.stdin.write(await readFile(path("cut.zip"))); // Nothing more comes.
    await once(child.stdout, "data");
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
    child.stdin.destroy();
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
    const outcome = await shell("cat cut.zip | tradewire rows -", [], folder);
    expect(outcome.code).toBe(1);
    expect(outcome.out.startsWith('{"id":"0","note":"row number 0"}\n')).toBe(true);
    expect(outcome.out.endsWith("}\n")).toBe(true);
    expect(outcome.err).toMatch(/^tradewire: .+\n.+\n$/);
    expect(await run(["rows", path("cut.zip")])).toMatchObject({ code: 1, err: expect.stringMatching(/^tradewire: /) });
  });

  it.each([
    ["no.zip", /^tradewire: .+\n.+\n$/],
    ["nothing.zip", /nothing\.zip": it does not exist\nCheck the path: there is nothing to read\.\n$/],
    [".", /: it is a folder\nGive the path of a file\.\n$/],
  ])("refuses %s", async (name, said) => {
    const outcome = await run(["rows", path(name)]);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(said);
  });
});
