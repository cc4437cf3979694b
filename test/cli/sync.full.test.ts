import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { startProcess } from "../support/command-process.js";
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

it("a sync in a process ends on SIGINT with 130, and says what it loaded", async () => {
  const { child, firstLine, ended } = startProcess(args("stopped", "--follow"), folder);
  await firstLine;
  child.kill("SIGINT");
  const { code, out } = await ended;
  expect(code).toBe(130);
  expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ event: "interrupted" });
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
    expect(written).toMatch(/trades +\[=+>? *\] +\d+\/6 +[\d.K]+ rows/);
    expect(written).toMatch(/all tables +\[=+>? *\] +\d+\/90 +[\d.K]+ rows/);
    const [display = "", summary] = written.split("Loaded ");
    const { lines, longest } = shown(display, 80, 24);
    expect(longest).toBeLessThan(80);
    expect(longest).toBeGreaterThan(70);
    expect(lines.join("")).toBe("");
    expect(summary).toMatch(/^[\d,]+ rows from 90 exports, [\s\S]*\sparquet:wide have [\d,]+ rows\.\s*$/);
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
