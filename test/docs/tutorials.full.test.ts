import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";
import { main } from "../support/command-process.js";
import { installedFolder } from "../support/example.js";
import { startPostgres } from "../support/postgres.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const names = (await readdir(join(root, "docs"))).filter((name) => name.startsWith("tutorial-"));

/** A comment about a block, and the block. */
const BLOCK = /(?:^<!-- (?<note>.*) -->\n\n)?^```(?<language>[a-z]+)\n(?<code>(?:.*\n)*?)^```$/gm;
/** What is done already: the folder exists, the package is installed, and a node runs. */
const DONE = /^(mkdir|npm|npx tradewire devnode)\b/;
const FILE = /^\/\/ (\S+)\n/;

/** A command whose output a reader sees on a terminal. */
const SHOWN = /^tradewire (?!.*[>|]).*$/gm;

/** What to do in a tutorial, and what it must print. */
interface Step {
  readonly commands: string;
  readonly isEndless: boolean;
  readonly expected: string | undefined;
}

it.each(names)("%s works from an empty folder, as printed", async (name) => {
  await using node = await startDevnode({ blockMs: 200, activity: 5 });
  await using postgres = await startPostgres();
  const url = await postgres.createDatabase();
  const there = (code: string) =>
    code
      .replaceAll("http://127.0.0.1:3007", node.grpcUrl)
      .replaceAll("http://127.0.0.1:3008", node.restUrl)
      .replaceAll(/postgres:\/\/\w+@db\.example\/history/g, url)
      .replaceAll("npx tradewire", "tradewire");
  const folder = await installedFolder("tutorial");
  try {
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    await mkdir(join(folder, "bin"));
    await writeFile(join(folder, "bin/tradewire"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(join(folder, "bin/tradewire"), 0o755);
    const environment = {
      PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"] ?? ""}`,
      TRADEWIRE_GRPC_URL: node.grpcUrl,
      TRADEWIRE_REST_URL: node.restUrl,
    };
    const { files, steps } = parse(await readFile(join(root, "docs", name), "utf8"));
    for (const [file, code] of files) {
      await writeFile(join(folder, file), there(code));
    }
    let exports = "";
    for (const { commands, isEndless, expected } of steps) {
      const script = `${exports}set -e\n${isEndless ? "exec " : ""}${there(commands).replaceAll(SHOWN, "$& --output table")}`;
      const pattern = expected === undefined ? /^/ : patternOf(expected);
      const { code, out } = await run(script, folder, environment, isEndless ? pattern : undefined);
      expect(`${commands}${out}`).toMatch(pattern);
      expect({ commands, code, out }).toEqual({ commands, code: isEndless && code === 130 ? 130 : 0, out });
      exports += there(commands.match(/^export .*\n/gm)?.join("") ?? "");
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("finds the tutorials", () => {
  expect(names).toEqual(expect.arrayContaining(["tutorial-bot.md", "tutorial-postgres.md"]));
});

/** Returns the programs of a page by their file names, and its commands with what they print. */
function parse(page: string): { files: readonly (readonly [string, string])[]; steps: readonly Step[] } {
  const blocks = [...page.matchAll(BLOCK)].map(({ groups: { note = "", language = "", code = "" } = {} }) => ({
    note,
    language,
    code,
  }));
  const files = blocks.flatMap(({ language, code }) => {
    const file = FILE.exec(code)?.[1];
    return language === "js" && file !== undefined ? [[file, code] as const] : [];
  });
  const steps = blocks.flatMap(({ note, language, code }, index) => {
    const commands = code.replaceAll(/^.*\n/gm, (line) => (DONE.test(line) ? "" : line));
    const next = blocks[index + 1];
    return language !== "sh" || commands === "" || note.startsWith("not run")
      ? []
      : [
          {
            commands,
            isEndless: note === "runs on",
            expected: next?.language === "text" ? next.code : undefined,
          },
        ];
  });
  return { files, steps };
}

/** An ellipsis stands for any text, and columns may be wider or narrower. */
function patternOf(expected: string): RegExp {
  const parts = expected.trim().split("…");
  const escaped = parts.map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&").replaceAll(/ +/g, " +"));
  return new RegExp(escaped.join("[^]*?"));
}

/** Runs a script; one that goes on is interrupted when it has printed what it must. */
async function run(script: string, cwd: string, environment: Readonly<Record<string, string>>, until?: RegExp) {
  const child = spawn("bash", ["-c", script], {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  const read = (bytes: Buffer) => {
    out += bytes.toString();
    if (until?.test(out) && !child.killed) {
      child.kill("SIGINT");
    }
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const code = await new Promise((end) => child.on("close", end));
  return { code, out };
}
