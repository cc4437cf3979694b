import { readFile } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { expect, it } from "@jest/globals";
import type { Command } from "commander";
import { EXAMPLES } from "../../src/cli/examples.js";
import { createProgram } from "../../src/cli/program.js";
import { commandReference } from "../../src/cli/reference.js";
import { fullName } from "../../src/cli/usage-error.js";

it("docs/command.md says what the command's help says (npm run generate:reference)", async () => {
  expect(await readFile("docs/command.md", "utf8")).toBe(await commandReference());
});

it("every command has examples, of options that there are", async () => {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const context = { in: new PassThrough(), out, err, notes: err, environment: {}, signal };
  const program = await createProgram("", context, () => true);
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const commands = new Map(all(program).map((command) => [fullName(command), command]));
  // Those that only hold others show the examples of these.
  expect([...commands.keys()].filter((name) => EXAMPLES[name] === undefined)).toEqual(["tradewire keys"]);
  for (const [line] of Object.values(EXAMPLES).flat()) {
    const [own = ""] = line.replace(/^.*<\(|\)$/g, "").split(/ [|>] /);
    const words = own.split(" ");
    const name = [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find((each) => commands.has(each)) ?? "";
    const flags = (commands.get(name)?.options ?? []).flatMap(({ long, short }) => [long, short]);
    expect(words.filter((word) => word.startsWith("-") && !flags.includes(word))).toEqual([]);
  }
});
