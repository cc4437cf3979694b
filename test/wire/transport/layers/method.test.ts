import { expect, it } from "@jest/globals";
import { onlyReads } from "../../../support/only-reads.js";
import { read, say, send, watch } from "../../../support/probe.js";
import { shapeMethod } from "../../../support/shapes.js";

it("a method only reads where its HTTP rule is a GET", async () => {
  expect(await Promise.all([read, watch, say, send].map(onlyReads))).toEqual([true, true, false, false]);
  expect(await onlyReads(shapeMethod({ get: "/shape" }))).toBe(true);
  expect(await onlyReads(shapeMethod({ post: "/shape", body: "*" }))).toBe(false);
  expect(await onlyReads(shapeMethod({ delete: "/shape" }))).toBe(false);
  expect(await onlyReads(shapeMethod({ post: "/shape", additionalBindings: [{ get: "/shape" }] }))).toBe(false);
});
