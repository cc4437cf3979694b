import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { start } from "../support/command-process.js";
import { installedFolder } from "../support/example.js";
import { readBlocks } from "./blocks.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const blocks = (await readBlocks(root)).filter(({ page }) => page === "docs/testing.md");

it.each([
  ["Vitest", "ts", "own.test.ts", [resolve("node_modules/vitest/vitest.mjs"), "run"], /Tests +1 passed \(1\)/],
  ["Node's own runner", "js", "own.test.js", ["--test", "own.test.js"], /^(#|ℹ) pass 1$/m],
] as const)("the tests of docs/testing.md pass in %s, as they are printed", async (_, language, file, args, passed) => {
  const [block, ...others] = blocks.filter((each) => each.language === language);
  expect(others).toEqual([]);
  const folder = await installedFolder("testing");
  try {
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    await writeFile(join(folder, file), block?.code ?? "");
    const { code, out } = await start(process.execPath, args, folder, { NO_COLOR: "1", FORCE_COLOR: "0" }).ended;
    expect(out).toMatch(passed);
    expect(code).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
