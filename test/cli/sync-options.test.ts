import { tmpdir } from "node:os";
import { describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";

const sync = (...args: string[]) => run(["sync", ...args], { cwd: tmpdir() });

describe("what does not fit is refused, with what to do", () => {
  it.each([
    [[], "--to is missing", "--to duckdb:history.duckdb"],
    [["--to", "history.duckdb"], "does not specify the kind", "Did you mean --to duckdb:history.duckdb?"],
    [["--to", "duckbd:x"], 'begins with "duckbd:"', "Did you mean duckdb:?"],
    [["--to", "duckdb:"], "has no file", "--to duckdb:history.duckdb"],
    [["--to", "duckdb:x", "--to-env", "X"], "--to and --to-env", "Use one"],
    [["--to-env", "TRADEWIRE_NO_SUCH"], '"TRADEWIRE_NO_SUCH": the environment variable is not set', "--to duckdb:"],
    [["--to", "duckdb:x", "--table", "tardes"], 'unknown table "tardes"', "Did you mean trades?"],
    [["--to", "duckdb:x", "--schema", "y"], "--schema applies only to PostgreSQL", "Remove the option"],
    [
      ["--to", "duckdb:x", "--create-indexes", "after"],
      "--create-indexes applies only to PostgreSQL",
      "Remove the option",
    ],
    [["--to", "parquet:x", "--views", "all"], "--views applies only to databases", "Remove the option"],
    [["--to", "postgres://h/d?schema=a", "--schema", "b"], 'names the schema "a"', "Use one"],
    [["--to", "duckdb:x", "--interval", "5s"], "--interval needs --follow", "--follow"],
    [["--to", "duckdb:x", "--parallel", "0"], "parallel must be a whole number from 1 to 100 (got 0)", ""],
    [
      ["--to", "duckdb:x", "--from-block", "9", "--to-block", "3"],
      "--from-block 9 is after --to-block 3",
      "first block",
    ],
    [["--to", "duckdb:x", "--queue"], "--queue needs PostgreSQL", "postgres://"],
    [["--to", "duckdb:x", "--queue", "--dry-run"], "--queue needs PostgreSQL", "postgres://"],
    [["--to", "duckdb:x", "--retry-failed", "--dry-run"], "--retry-failed needs --queue", "--queue"],
    [["--to", "duckdb:x", "--retry-failed"], "--retry-failed needs --queue", "--queue"],
    [
      ["--to", "postgres://h/d", "--queue", "--parallel", "3"],
      "--parallel cannot be combined with --queue:",
      "sync worker",
    ],
    [["worker", "--to", "duckdb:x"], "sync worker needs PostgreSQL", "postgres://"],
  ])("%j", async (args, summary, advice) => {
    const { code, out, err } = await sync(...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    const [first, second] = err.split("\n");
    expect(first).toContain(summary);
    expect(second).toContain(advice);
  });

  it.each([[["stats"]], [["status", "--follow"]], [["--unknown-columns", "maybe"]]])("%j", async (args) => {
    expect(await sync(...args)).toMatchObject({ code: 2, out: "" });
  });
});

describe("a password", () => {
  it.each([
    "postgres://me:hush@h/d",
    "postgres://me@h/d?password=hush",
    "postgres://me@h/d?sslmode=require&sslpassword=hush",
    "postgres://me@h/d?PASSWORD=hush",
    "postgres://me:hu/sh@h/d",
    "postgre://me:hush@h/d",
  ])("is not taken from the arguments, and not shown: %s", async (to) => {
    const { code, out, err } = await sync("--to", to, "--dry-run");
    expect(code).toBe(2);
    expect(err.includes("\nOther users of this machine can read arguments.")).toBe(/^postgres:/.test(to));
    expect(out + err).not.toMatch(/hush|hu\/sh/);
  });

  it("is taken from an environment variable, and not shown", async () => {
    const environment = { HISTORY: "postgres://me:hush@127.0.0.1:1/d?schema=s" };
    const args = ["sync", "status", "--to-env", "HISTORY", "--grpc-url", "http://127.0.0.1:1"];
    const { code, out, err } = await run(args, { cwd: tmpdir(), environment });
    expect(code).toBe(1);
    expect(err).toContain("127.0.0.1:1/d");
    expect(out + err).not.toContain("hush");
    const other = await run([...args, "--schema", "t"], { cwd: tmpdir(), environment });
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining('names the schema "s"') });
  });
});
