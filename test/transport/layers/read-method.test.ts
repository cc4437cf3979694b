import { expect, it } from "@jest/globals";
import { onlyReads } from "../../../src/transport/layers/read-method.js";
import { read, say, send, watch } from "../../support/probe.js";
import { shapeMethod } from "../../support/shapes.js";

it("a method only reads where its HTTP rule is a GET", () => {
  expect([read, watch, say, send].map(onlyReads)).toEqual([true, true, false, false]);
  expect(onlyReads(shapeMethod({ get: "/shape" }))).toBe(true);
  expect(onlyReads(shapeMethod({ post: "/shape", body: "*" }))).toBe(false);
  expect(onlyReads(shapeMethod({ delete: "/shape" }))).toBe(false);
  expect(onlyReads(shapeMethod({ post: "/shape", additionalBindings: [{ get: "/shape" }] }))).toBe(false);
});
