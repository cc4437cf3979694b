import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { listedCommands, run } from "../support/command.js";
import { main, start } from "../support/command-process.js";

const commands = await listedCommands();
const folder = await mkdtemp(join(tmpdir(), "tradewire-start-"));
afterAll(() => rm(folder, { recursive: true }));

/** Run the command, and give what it wrote and the modules of ours that it loaded. */
async function loadedBy(...args: readonly string[]) {
  const list = pathToFileURL(resolve("test/support/loaded-modules.mjs")).href;
  const file = join(folder, args.join(" "));
  const { code, out, err } = await start(process.execPath, ["--import", list, main, ...args], folder, {
    LOADED_FILE: file,
  }).ended;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const urls = (await readFile(file, "utf8")).trimEnd().split("\n");
  const names = urls.map((url) => /\/dist\/(.*?)(?:-.{8})?\.js$/.exec(url)?.[1] ?? url);
  return { out, files: names.filter((name) => !name.startsWith("node:") && name !== "chunks/rolldown-runtime") };
}

/** The files of commands among those that were loaded. */
const commandsIn = (files: readonly string[]) => files.filter((name) => /^chunks\/.*-commands?$/.test(name));

describe("the command", () => {
  it("loads nothing to print its version", async () => {
    const { version } = JSON.parse(await readFile("package.json", "utf8"));
    for (const option of ["--version", "-V"]) {
      expect(await loadedBy(option)).toEqual({ out: `${version}\n`, files: ["src/cli/main"] });
    }
  });

  it("lists its commands without the modules of any", async () => {
    for (const args of [["--help"], ["help"]]) {
      const { files } = await loadedBy(...args);
      expect(files).toEqual(expect.arrayContaining(["src/cli/main", "chunks/program"]));
      expect(commandsIn(files).concat(files.filter((name) => name === "chunks/client"))).toEqual([]);
    }
  });

  it("loads of its commands the one that is asked for, also for its help", async () => {
    const { out, files } = await loadedBy("help", "keys");
    expect(out).toMatch(/^Usage: tradewire keys /);
    expect(commandsIn(files)).toEqual(["chunks/keys-command"]);
    const exporting = await loadedBy("export", "--table", "trades", "--help"); // `trades` is a command too.
    expect(commandsIn(exporting.files)).toEqual(["chunks/export-command"]);
  });

  it.each([...commands])("lists %s as it is", async (name, takes) => {
    const { out } = await run(["help", name]);
    const usage = /^Usage: tradewire (.*)$/m.exec(out)?.[1]?.replace(/ \[command\]$/, "");
    const hasOptions = /^ {2}-(?!h, --help|q, --quiet|-verbose|-no-color)/m.test(out); // Beside those that all commands have.
    expect(hasOptions ? usage : usage?.replace(" [options]", "")).toBe(`${name} ${takes}`.trimEnd());
  });
});
