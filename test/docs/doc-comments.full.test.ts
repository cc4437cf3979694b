import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { readTypedExamples } from "./typed-examples.js";

it("the examples of doc comments and of pages compile together, as the documentation's site shows their types", async () => {
  const { examples, compile } = await readTypedExamples(fileURLToPath(new URL("../../", import.meta.url)));
  expect(examples.length).toBeGreaterThan(150);
  expect(compile()).toBe("");
});
