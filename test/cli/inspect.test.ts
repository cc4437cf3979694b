import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { zipOf } from "../support/archives.js";
import { run } from "../support/command.js";

const OLD = "chain-1-trades-001-000001-001000.csv";
const NEW = "chain-1-trades-002-001001-002000.csv";
const OLD_CSV = 'id,note\n1,\n2,""\n3,x\n4,x\n';

let folder: string;
const path = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-inspect-"));
  const files = { [OLD]: Buffer.from(OLD_CSV), [NEW]: Buffer.from(`id,fee\n5,${"long".repeat(20)}\n`) };
  await writeFile(path("sound.zip"), await zipOf(files));
  await writeFile(path("wrong.zip"), await zipOf({ ...files, "notes.csv": Buffer.from("a\x1b[2J,b\n1,2\n3\n") }));
  await writeFile(path("no.zip"), "no archive");
});
afterAll(() => rm(folder, { recursive: true }));

describe("tradewire inspect", () => {
  it("prints one JSON object", async () => {
    const outcome = await run(["inspect", path("sound.zip"), "--json"]);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(outcome.out)).toEqual({
      file: path("sound.zip"),
      sound: true,
      rows: 5,
      schemaVersions: ["1", "2"],
      files: [
        {
          name: OLD,
          chainId: "chain-1",
          table: "trades",
          schemaVersion: "1",
          fromBlock: "1",
          toBlock: "1000",
          compressedSize: expect.any(Number),
          size: OLD_CSV.length,
          crc32: expect.any(Number),
          rows: 4,
          columns: [
            { name: "id", nulls: 0, empty: 0, samples: ["1", "2", "3"] },
            { name: "note", nulls: 1, empty: 1, samples: ["x"] },
          ],
        },
        expect.objectContaining({
          name: NEW,
          rows: 1,
          columns: [
            { name: "id", nulls: 0, empty: 0, samples: ["5"] },
            { name: "fee", nulls: 0, empty: 0, samples: [`${"long".repeat(9)}lon…`] },
          ],
        }),
      ],
    });
  });

  it("finds the same in a stream", async () => {
    const { file: _, ...fromFile } = JSON.parse((await run(["inspect", path("sound.zip"), "--json"])).out);
    const outcome = await run(["inspect", "-", "--json"], { input: await readFile(path("sound.zip")) });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(outcome.out)).toEqual({ file: "-", ...fromFile });
  });

  it("prints a report", async () => {
    const { code, out, err } = await run(["inspect", path("sound.zip"), "-o", "table"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(
      `${OLD}\n  chain chain-1, table trades, schema version 1, blocks 1 to 1000\n  4 rows, 24 B, `,
    );
    expect(out).toMatch(/, CRC-32 [0-9a-f]{8}\n {2}column {2}NULLs {2}empty {2}samples\n/);
    expect(out).toContain('  note        1      1  "x"\n');
    expect(out.endsWith("\n5 rows in 2 files; sizes, checksums and rows are valid.\n")).toBe(true);
  });

  it("tells what it found up to the mistake, then the mistake", async () => {
    const { code, out, err } = await run(["inspect", path("wrong.zip"), "-o", "table"]);
    expect(code).toBe(1);
    expect(out).toContain("notes.csv\n  the file name does not contain chain, table and blocks\n  1 row, ");
    expect(out).toContain('  a\\u{1b}[2J      0      0  "1"\n');
    expect(out.endsWith("\n6 rows in 3 files before the archive is corrupt.\n")).toBe(true);
    expect(err).toMatch(/^tradewire: .*notes\.csv.*line 3/);
    const machine = await run(["inspect", path("wrong.zip"), "--json"]);
    expect(machine).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(machine.out)).toMatchObject({
      sound: false,
      error: { name: "ProtocolError", code: "DATA_LOSS", message: expect.stringContaining("notes.csv") },
      rows: 6,
    });
  });

  it.each(["no.zip", "nothing.zip"])("refuses %s", async (name) => {
    expect(await run(["inspect", path(name)])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/^tradewire: .+\n.+\n$/),
    });
    const machine = await run(["inspect", path(name), "--json"]);
    expect(machine).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(machine.out)).toMatchObject({ error: { message: expect.any(String) } });
  });
});
