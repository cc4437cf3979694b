// Writes what the pages of reference are made of: the command's, the table of all keys of the configuration, and the tables of
// the codes of errors; and the README's line about speed. Tests compare all of it with what it is made of.
import { readFile, writeFile } from "node:fs/promises";
import { commandReference } from "./command.js";
import { configReference } from "./configuration.js";
import { errorTable } from "./errors.js";
import { speedLine } from "./speed.js";

await writeFile("docs/command.md", await commandReference());
const page = await readFile("docs/configuration.md", "utf8");
await writeFile(
  "docs/configuration.md",
  page.replace(/^\| Key \|.*?\n(?=\n)/ms, () => configReference()),
);
const errors = await readFile("docs/errors.md", "utf8");
await writeFile(
  "docs/errors.md",
  errors.replace(/^## (\w+Error)\n(?:(?!\n## ).)*?\n\| Code \|.*?\n(?=\n|$)/gms, (section, className) =>
    section.replace(/^\| Code \|.*\n/ms, () => `${errorTable(className)}\n`),
  ),
);
const readme = await readFile("README.md", "utf8");
const results = JSON.parse(await readFile("docs/bench/results.json", "utf8"));
await writeFile(
  "README.md",
  readme.replace(/^\*\*Speed\*\*.*$/m, () => speedLine(results)),
);
