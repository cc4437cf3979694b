// Writes the reference of the command, which a test compares with the command itself.
import { writeFile } from "node:fs/promises";
import { commandReference } from "./compiled/src/cli/reference.js";

await writeFile("docs/command.md", await commandReference());
