import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { type Script, serveExport } from "../support/export-server.js";

const PARTY = "ab".repeat(32);
const NAME = `ledger_entries_${PARTY}_.csv`;
const body = Buffer.from('vega_time,quantity,note\n2024-01-01 00:00:00+00,12,\n2024-01-01 00:00:01+00,-3,"a, ""b"""\n');
const failure = { code: Code.Internal, message: "no ledger", details: [] };
const good: Script = { chunks: [{ contentType: "text/csv", data: body }], disposition: `attachment;filename=${NAME}` };
/** It fails in the middle of the last row. */
const failing: Script = { chunks: [{ contentType: "text/csv", data: body.subarray(0, -8) }], end: failure };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-cli-ledger-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe.each(["grpc", "rest"] as const)("tradewire ledger over %s", (transport) => {
  async function ledgerTo(onTerminal: boolean, script: Script, ...args: readonly string[]) {
    await using server = await serveExport(transport === "grpc" ? "grpc" : "raw", script);
    return await run(
      ["ledger", "--transport", transport, `--${transport}-url`, server.url, "--party", PARTY, ...args],
      { cwd: folder, ...(onTerminal && { terminal: { columns: 120, rows: 20 } }) },
    );
  }
  const ledger = (script: Script, ...args: readonly string[]) => ledgerTo(false, script, ...args);

  it("saves into the folder it is run in, its path on standard output and the rest on the other", async () => {
    const { code, out, err } = await ledgerTo(true, good);
    expect([code, out]).toEqual([0, `${join(folder, NAME)}\n`]);
    const sha256 = createHash("sha256").update(body).digest("hex");
    expect(err).toMatch(new RegExp(`^${body.length} B in \\d+\\.\\d s, SHA-256 ${sha256}, 2 rows\n$`));
    expect((await readFile(join(folder, NAME))).equals(body)).toBe(true);
    expect(await readdir(folder)).toEqual([NAME]);
  });

  it("names the file that exists already, with the party's key in it", async () => {
    await ledger(good);
    const { code, err } = await ledger(good);
    expect([code, err.split("\n")[0]]).toEqual([1, `tradewire: ${join(folder, NAME)}: file already exists`]);
  });

  it("prints a JSON object, and replaces a file where it is forced to", async () => {
    const args = ["--to", "mine.csv", "--json"];
    expect(JSON.parse((await ledger(good)).out)).toMatchObject({ path: join(folder, NAME), rows: 2 });
    const { code, out, err } = await ledger(good, ...args);
    expect([code, err]).toEqual([0, ""]);
    const saved = {
      path: join(folder, "mine.csv"),
      bytes: body.length,
      rows: 2,
      columns: ["vega_time", "quantity", "note"],
    };
    expect(JSON.parse(out)).toMatchObject(saved);
    const again = await ledger(good, ...args);
    expect([again.code, JSON.parse(again.out)]).toMatchObject([1, { error: { name: "FileError" } }]);
    expect((await ledger(good, ...args, "--force")).code).toBe(0);
  });

  it("prints rows in each format", async () => {
    expect(await ledger(good, "--to", "-")).toMatchObject({ code: 0, out: body.toString(), err: "" });
    expect(await ledger(good, "--output", "jsonl", "--columns", "note,quantity")).toMatchObject({
      code: 0,
      out: '{"note":null,"quantity":"12"}\n{"note":"a, \\"b\\"","quantity":"-3"}\n',
    });
    expect(await ledger(good, "--output", "csv", "--null", "NULL", "--limit", "1")).toMatchObject({
      code: 0,
      out: "vega_time,quantity,note\n2024-01-01 00:00:00+00,12,NULL\n",
    });
    expect((await ledger(good, "--output", "table")).out).toBe(
      'vega_time               quantity  note\n2024-01-01 00:00:00+00        12  NULL\n2024-01-01 00:00:01+00        -3  a, "b"\n',
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it("prints the rows before a failure, marks CSV as cut, and tells the node's error", async () => {
    const { code, out, err } = await ledger(failing, "--to", "-");
    expect([code, out]).toEqual([1, 'vega_time,quantity,note\n2024-01-01 00:00:00+00,12,\n"']);
    expect(err).toContain("tradewire: the node answered INTERNAL: no ledger");
    const rows = await ledger(failing, "--output", "jsonl", "--columns", "quantity");
    expect([rows.code, rows.out]).toEqual([1, '{"quantity":"12"}\n']);
  });

  it("saves nothing where the node fails", async () => {
    const { code, out, err } = await ledger(failing);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("no ledger");
    expect(JSON.parse((await ledger(failing, "--json")).out)).toMatchObject({
      error: { name: "NodeError", code: "INTERNAL" },
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("tradewire ledger", () => {
  it("finds the party by the start of its ID, and the asset by its symbol or the start of its ID", async () => {
    await using node = await startDevnode({ blockMs: 0 });
    const ask = (...args: string[]) => run([...args, "--grpc-url", node.grpcUrl]);
    const { accounts } = JSON.parse((await ask("accounts", "--json")).out);
    const { owner, asset } = accounts.find(({ owner }: { owner: string }) => owner !== "network");
    const assets = JSON.parse((await ask("call", "ListAssets", "--all", "--json")).out);
    const { symbol } = assets.find(({ id }: { id: string }) => id === asset).details;
    const rows = (party: string, of: string) => ask("ledger", "--party", party, "--asset", of, "-o", "csv");
    const byFullId = await rows(owner, asset);
    expect(byFullId.out.split("\n").length).toBeGreaterThan(2);
    expect(await rows(owner.slice(0, 8), symbol)).toEqual(byFullId);
    expect(await rows(owner, asset.slice(0, 8))).toEqual(byFullId);
    expect(await rows(owner, "NONE")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/^tradewire: no asset has the symbol or ID "NONE"\n/),
    });
  });

  it.each([
    [["--party", "x"], 'no party has the ID "x"'],
    [
      ["--since", "soon"],
      'tradewire: --since must be ISO 8601, such as 2024-01-31 or 2024-01-31T12:30:00Z, a duration before now, such as 1h, or Unix nanoseconds (got "soon")',
    ],
    [["--since", "2025-01-01", "--until", "2024-01-01"], "the date range is empty"],
    [
      ["--since", "9999999999999999999"],
      "tradewire: --since must be a Date, or Unix nanoseconds as a bigint of 64 bits (got 9999999999999999999)",
    ],
    [["--limit", "1"], "--limit applies to printed rows, but the output is a file"],
    [["--output", "csv", "--to", "x.csv"], "--to, --force and --json apply only to a file, but rows are printed"],
    [["--to", "-", "--force"], "--to, --force and --json apply only to a file, but rows are printed"],
  ])("refuses %j", async (args, message) => {
    const party = args.includes("--party") ? [] : ["--party", PARTY];
    const { code, out, err } = await run(["ledger", ...party, ...args], { cwd: folder });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });
});
