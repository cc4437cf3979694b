import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Code } from "@connectrpc/connect";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { run, startCommand } from "../support/command.js";
import { serveExport } from "../support/export-server.js";
import { rawZip } from "../support/raw-zip.js";

const NAME = "chain-1-trades-1-1000.csv";
const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, n) => `${n},note ${n ** 3}\n`).join("");
const good = rawZip([{ name: NAME, content: `id,note\n${rows}` }]);
const wrong = rawZip([{ name: NAME, content: `id,note\n${rows}`, crc: 1 }]);

let folder: string;
let postgres: PGlite;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-copy-"));
  postgres = await PGlite.create();
  await writeFile(join(folder, "good.zip"), good);
  await writeFile(join(folder, "wrong.zip"), wrong);
  await writeFile(join(folder, "no.zip"), "this is no archive");
});
afterAll(async () => {
  await postgres.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => postgres.exec("drop table if exists t; create table t (id bigint, note text)"));

/** Copy a command's output into a table, as `psql -c "\copy t from stdin"` does, and count the rows in it. */
async function copied(csv: string): Promise<{ rows: number; error: unknown }> {
  const blob = new Blob([csv]);
  const error: unknown = await postgres
    .query("copy t from '/dev/blob' with (format csv, header)", [], { blob })
    .then(() => undefined)
    .catch((reason: unknown) => reason);
  const { rows: counts } = await postgres.query<{ count: number }>("select count(*)::int as count from t");
  return { rows: counts[0]?.count ?? -1, error };
}

async function refused(csv: string): Promise<void> {
  const { rows: count, error } = await copied(csv);
  expect(String(error)).toContain("unterminated CSV quoted field");
  expect(count).toBe(0);
}

describe("CSV that a database reads", () => {
  it("is taken where it is whole", async () => {
    const { code, out } = await run(["rows", join(folder, "good.zip"), "--output", "csv"]);
    expect(code).toBe(0);
    expect(await copied(out)).toEqual({ rows: ROWS, error: undefined });
  });

  it.each(["wrong.zip", "no.zip"])("is refused where the archive is broken: %s", async (name) => {
    const { code, out } = await run(["rows", join(folder, name), "--output", "csv"]);
    expect(code).toBe(1);
    expect(out.endsWith('\n"')).toBe(true);
    await refused(out);
  });

  it("is refused where the node fails inside an export", async () => {
    const chunks = [{ contentType: "application/zip", data: good.subarray(0, good.length / 2) }];
    const end = { code: Code.Internal, message: "no segment", details: [] };
    await using server = await serveExport("raw", { chunks, end, pieceSize: 20_000 });
    const range = ["--table", "trades", "--from-block", "1", "--to-block", "1000"];
    const node = ["--transport", "rest", "--rest-url", server.url];
    const { code, out, err } = await run(["export", ...node, ...range, "--output", "csv", "--to", "-"]);
    expect(code).toBe(1);
    expect(err).toContain("the node answered INTERNAL: no segment");
    expect(out.split("\n").length).toBeGreaterThan(100);
    expect(out.endsWith('\n"')).toBe(true);
    await refused(out);
  });

  it("is refused where the command is interrupted", async () => {
    const input = new PassThrough();
    const { interrupt, firstLine, ended } = startCommand(["rows", "-", "--output", "csv"], { input });
    input.write(good.subarray(0, good.length / 2)); // Nothing more comes.
    await firstLine;
    interrupt("SIGTERM");
    const { code, out } = await ended;
    expect(code).toBe(143);
    expect(out.endsWith('\n"')).toBe(true);
    await refused(out);
  });
});

describe("--max-row-bytes", () => {
  it("is the limit that the error names", async () => {
    const file = join(folder, "good.zip");
    for (const command of [
      ["rows", file],
      ["inspect", file],
      ["merge", file, "--to", join(folder, "merged.zip")],
    ]) {
      const refusal = await run([...command, "--max-row-bytes", "10"]);
      expect(refusal.code).toBe(1);
      expect(refusal.err).toContain(
        "the row exceeds 10 bytes\nIf rows of this size are expected, raise --max-row-bytes",
      );
      expect(await run([...command, "--max-row-bytes", "100"])).toMatchObject({ code: 0 });
    }
  });
});
