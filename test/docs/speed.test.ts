import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { speedLine } from "../../site/reference/speed.js";

it("is the README's line about speed, of the last results (npm run generate:reference)", () => {
  const results = JSON.parse(readFileSync("docs/bench/results.json", "utf8"));
  expect(readFileSync("README.md", "utf8")).toContain(`\n\n${speedLine(results)}\n\n`);
});
