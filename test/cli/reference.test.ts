import { readFile } from "node:fs/promises";
import { expect, it } from "@jest/globals";
import { commandReference } from "../../site/reference/command.js";

const reference = await readFile("docs/command.md", "utf8");

it("docs/command.md is generated from the command (npm run generate:reference)", async () => {
  expect(reference).toBe(await commandReference());
});

it("every command has examples, of options that there are", () => {
  const [start = "", ...sections] = reference.split(/^##+ (?=tradewire )/m);
  const commands = new Map(sections.map((section) => [section.split("\n", 1)[0] ?? "", section]));
  const [, common = "", connection = ""] = start.split(/^## (?=Co)/m).slice(1);
  const examplesOf = (section: string) => /^```bash\n(.*?)^```$/ms.exec(section)?.[1]?.match(/^[^#].*$/gm) ?? [];
  // Those that only hold others show the examples of these.
  const names = [...commands.keys()];
  expect(names.filter((name) => examplesOf(commands.get(name) ?? "").length === 0)).toEqual(["tradewire keys"]);
  for (const line of [start, ...commands.values()].flatMap(examplesOf)) {
    const [own = ""] = line.replace(/^.*<\(|\)$/g, "").split(/ [|>] /);
    const words = own.trim().split(" ");
    const name = [3, 2].map((count) => words.slice(0, count).join(" ")).find((each) => commands.has(each)) ?? "";
    const section = commands.get(name) ?? "";
    const shared = [
      section.includes("(#common-options)") && common,
      section.includes("(#connection-options)") && connection,
    ];
    const flags: readonly string[] =
      [section, ...shared].join("\n").match(/(?<=^\| `[^`]*)(?<![\w-])--?[a-z][\w-]*/gm) ?? [];
    expect(words.filter((word) => word.startsWith("-") && !flags.includes(word))).toEqual([]);
  }
});

it("lists every command, and states the options that many have once", () => {
  const names = [...reference.matchAll(/^## tradewire (.*)$/gm)].map(([, name]) => name);
  const listed = [...reference.matchAll(/^\| \[`(.*)`\]\(#tradewire-\1\) \|/gm)].map(([, name]) => name);
  expect(listed).toEqual(names);
  const sections = reference.replace(/^## All options\n.*?(?=^## )/ms, "");
  for (const flag of ["-q, --quiet", "--verbose", "--no-color", "-h, --help", "--use <name>", "--grpc-url <url,...>"]) {
    expect(sections.split(`\n| \`${flag}\` |`)).toHaveLength(2);
  }
});
