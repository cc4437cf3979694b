// Writes what the pages of reference are made of: the command's, and the table of all keys of the configuration. Tests
// compare both with what they are made of.
import { readFile, writeFile } from "node:fs/promises";
import { commandReference } from "./compiled/src/cli/reference.js";
import { configReference } from "./compiled/src/config/config-reference.js";

await writeFile("docs/command.md", await commandReference());
const page = await readFile("docs/configuration.md", "utf8");
await writeFile(
  "docs/configuration.md",
  page.replace(/^\| Key \|.*?\n(?=\n)/ms, () => configReference()),
);
