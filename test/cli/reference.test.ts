import { readFile } from "node:fs/promises";
import { expect, it } from "@jest/globals";
import { commandReference } from "../../src/cli/reference.js";

const reference = await readFile("docs/command.md", "utf8");

it("docs/command.md says what the command's help says (npm run generate:reference)", async () => {
  expect(reference).toBe(await commandReference());
});

it("every command has examples, of options that there are", () => {
  const helps = [...reference.matchAll(/^#+ (tradewire.*)\n\n```text\n([^`]*(?:`[^`]+)*)```$/gm)];
  const commands = new Map(helps.map(([, name = "", help = ""]) => [name, help]));
  expect(commands.size).toBe(reference.match(/^#+ tradewire/gm)?.length);
  const examplesOf = (help: string) => help.split("\nExamples:\n")[1]?.match(/^ {2}[^ #].*$/gm) ?? [];
  // Those that only hold others show the examples of these.
  const names = [...commands.keys()];
  expect(names.filter((name) => examplesOf(commands.get(name) ?? "").length === 0)).toEqual(["tradewire keys"]);
  for (const line of [...commands.values()].flatMap(examplesOf)) {
    const [own = ""] = line.replace(/^.*<\(|\)$/g, "").split(/ [|>] /);
    const words = own.trim().split(" ");
    const name = [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find((each) => commands.has(each)) ?? "";
    const flags = [...(commands.get(name) ?? "").matchAll(/^ {2}(-\w)?(?:, )?(--[\w-]+)?/gm)].flatMap(
      ([, ...each]) => each,
    );
    expect(words.filter((word) => word.startsWith("-") && !flags.includes(word))).toEqual([]);
  }
});
