import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { configReference } from "../../../site/reference/configuration.js";

it("is the table of docs/configuration.md (npm run generate:reference)", () => {
  expect(readFileSync("docs/configuration.md", "utf8")).toContain(`\n\n${configReference()}\n`);
});
