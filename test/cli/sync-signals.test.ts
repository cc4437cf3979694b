import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type Running, run, startCommand } from "../support/command.js";
import { hasScript, onTerminal } from "../support/terminal.js";

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 6, blocksPerSegment: 20, blockMs: 0, activity: 1, chainId: "signals-1" });
  folder = await mkdtemp(join(tmpdir(), "tradewire-signals-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const args = (name: string, ...more: string[]) => [
  ...["sync", "--grpc-url", node.grpcUrl, "--to", `parquet:${name}`, "--parallel", "1"],
  ...more,
];

/** Starts a sync that prints events, and waits for one. */
async function until(event: string, name: string, ...more: string[]): Promise<Running> {
  const running = startCommand(args(name, "--json", ...more), { cwd: folder });
  let seen = "";
  const came = new Promise<void>((resolve) => {
    running.stdout.on("data", (bytes: Buffer) => {
      seen += bytes.toString();
      if (seen.includes(`"event":"${event}"`)) {
        resolve();
      }
    });
  });
  await Promise.race([
    came,
    running.ended.then(({ out, err }) => {
      throw new Error(`there was no ${event}: ${out}${err}`);
    }),
  ]);
  return running;
}

const last = (out: string): Record<string, unknown> => JSON.parse(out.trimEnd().split("\n").at(-1) ?? "");

describe("a sync that is stopped", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
    ["SIGTERM", 143],
  ] as const)("by %s ends with %d, leaves nothing half, and is gone on with", async (signal, exitCode) => {
    const running = await until("loaded", signal);
    running.interrupt(signal);
    const { code, out } = await running.ended;
    expect(code).toBe(exitCode);
    const stopped = last(out);
    expect(stopped).toMatchObject({ event: "interrupted" });
    const before = Number(stopped["units"]);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(15 * 6);
    const after = await run(args(signal, "--json"), { cwd: folder });
    expect(after.code).toBe(0);
    expect(last(after.out)).toMatchObject({ event: "summary", units: 15 * 6 - before });
    const verified = await run(["sync", "verify", "--to", `parquet:${signal}`, "--json"], { cwd: folder });
    expect(verified.code).toBe(0);
    expect(last(verified.out)).toMatchObject({ units: String(15 * 6), unsound: "0" });
  });

  it.each([
    ["SIGTERM", 0],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("while it follows, by %s, ends with %d", async (signal, code) => {
    const running = await until("idle", `follow-${signal}`, "--follow", "--table", "blocks");
    running.interrupt(signal);
    expect(await running.ended).toMatchObject({ code, err: "" });
  });

  it("says in words how to go on", async () => {
    const running = startCommand(args("words"), { cwd: folder });
    while (!(await readdir(folder)).includes("words")) {
      await setTimeout(20);
    }
    running.interrupt("SIGINT");
    const { code, out, err } = await running.ended;
    expect({ code, out }).toEqual({ code: 130, out: "" });
    expect(err).toMatch(
      /\nInterrupted: \d+ units were loaded; those under way were given up and left nothing\.\nRun the same command again to go on\.\n$/,
    );
  });
});

const ESCAPE = String.fromCharCode(27);

/** A terminal: what it shows in the end, and the most lines that stood on it. */
function shown(written: string, columns: number, rows: number): { readonly lines: string[]; readonly longest: number } {
  const screen: string[] = [""];
  let [row, column, longest] = [0, 0, 0];
  for (const [part, , move] of written.replaceAll(ESCAPE, "\u241b").matchAll(/\u241b\[(\??\d*)([A-Za-z])|./gsu)) {
    const parameter = /\[\??(\d*)/u.exec(part)?.[1] ?? "";
    if (move === "A") {
      row = Math.max(0, row - Number(parameter || 1));
    } else if (move === "K") {
      screen[row] = (screen[row] ?? "").slice(0, column);
    } else if (move === "J") {
      screen.length = row + 1;
      screen[row] = (screen[row] ?? "").slice(0, column);
    } else if (part === "\r") {
      column = 0;
    } else if (part === "\n") {
      row += 1;
      screen[row] ??= "";
    } else if (move === undefined) {
      screen[row] =
        `${(screen[row] ?? "").slice(0, column).padEnd(column)}${part}${(screen[row] ?? "").slice(column + 1)}`;
      column += 1;
      longest = Math.max(longest, column);
    }
    if (screen.length > rows || column > columns) {
      throw new Error(`more than ${columns}x${rows}: ${screen.join("\n")}`);
    }
  }
  return { lines: screen, longest };
}

(hasScript ? describe : describe.skip)("on a terminal", () => {
  it("redraws a line for each table in place, within 80 columns, and leaves the summary alone", async () => {
    const written = await onTerminal(folder, 80, 24, args("wide"));
    expect(written).toMatch(/trades +\[=+>? *\] +\d+\/6 +[\d.k]+ rows/);
    expect(written).toMatch(/all tables +\[=+>? *\] +\d+\/90 +[\d.k]+ rows/);
    const [display = "", summary] = written.split("Loaded ");
    const { lines, longest } = shown(display, 80, 24);
    expect(longest).toBeLessThan(80);
    expect(longest).toBeGreaterThan(70);
    expect(lines.join("")).toBe("");
    expect(summary).toMatch(/^[\d,]+ rows of 90 units, .* parquet:wide counts [\d,]+ rows\.\s*$/);
  });

  it("shows only as many lines as fit on a low and narrow one", async () => {
    const written = await onTerminal(
      folder,
      40,
      6,
      args(
        "low",
        "--table",
        "blocks",
        "--table",
        "trades",
        "--table",
        "orders",
        "--table",
        "markets",
        "--table",
        "ledger",
        "--table",
        "deposits",
      ),
    );
    expect(written).toContain("more tables");
    expect(written).toContain("all tables");
    expect(shown(written.split("Loaded ")[0] ?? "", 40, 6).lines.join("")).toBe("");
  });
});
