import { resolve } from "node:path";
import { expect, it } from "@jest/globals";
import { start } from "../support/command-process.js";
import { installExample } from "../support/example.js";

it("passes in Vitest", async () => {
  await using example = await installExample("vitest-suite");
  const vitest = resolve("node_modules/vitest/vitest.mjs");
  const environment = { NO_COLOR: "1", FORCE_COLOR: "0" };
  const { code, out } = await start(process.execPath, [vitest, "run"], example.folder, environment).ended;
  expect(out).toMatch(/Tests +8 passed \(8\)/);
  expect(code).toBe(0);
});
