import { readFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import * as library from "tradewire";
import { DivergenceError, SinkError } from "tradewire/sync";
import { ERROR_SECTIONS } from "./inside.js";

const errors = { ...library, DivergenceError, SinkError };

const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
const anchors = [...page.matchAll(/^##+ (.*)$/gm)].map(([, heading = ""]) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-"),
);
const classes = Object.keys(errors).flatMap((name) => (name.endsWith("Error") ? [name] : []));

it("has a section for each class of errors, and none for a class that there is not", () => {
  const ofClasses = [...page.matchAll(/^## (\w+Error)$/gm)].map(([, name]) => name);
  expect(ofClasses.sort()).toEqual(classes.sort());
});

it("has each section that errors point to, once", () => {
  expect(new Set(anchors).size).toBe(anchors.length);
  expect(ERROR_SECTIONS.filter((section) => !anchors.includes(section))).toEqual([]);
});

it("has no topic that no error points to", () => {
  const topics = [...page.matchAll(/^### (\w+Error: .*)$/gm)].map(([, heading = ""]) => heading);
  const pointedTo = ERROR_SECTIONS.filter((section) => section.includes("-"));
  expect(topics).toHaveLength(pointedTo.length);
});

const options = { code: Code.Unavailable, advice: "Wait." };
it.each([
  [new errors.RequestError("x", { advice: "" }), "requesterror"],
  [new errors.CommandError([]), "commanderror"],
  [new errors.NodeError({ code: Code.NotFound, message: "", details: [] }), "nodeerror-not-found"],
  [new errors.NodeError({ code: Code.Internal, message: "", details: [] }), "nodeerror"],
  [new errors.ConnectionError("x", { ...options, connected: false }), "connectionerror-not-reached"],
  [new errors.ConnectionError("x", options), "connectionerror-lost"],
  [new errors.ConnectionError("x", { ...options, code: Code.DeadlineExceeded }), "connectionerror-time-was-up"],
  [new errors.ProtocolError("x", { advice: "" }), "protocolerror"],
  [new errors.ProtocolError("x", { advice: "", section: "protocolerror-csv" }), "protocolerror-csv"],
  [new errors.FileError("x", { ...options, code: Code.ResourceExhausted }), "fileerror-disk-full"],
  [new errors.FileError("x", { ...options, code: Code.Unknown }), "fileerror"],
  [new errors.SinkError("x", options), "sinkerror-not-reached"],
  [new errors.BannedError(new Date(0)), "bannederror"],
  [new errors.CanceledError(), "cancelederror"],
  [new errors.DivergenceError("x", ""), "divergenceerror"],
])("is where %s points to", (error, section) => {
  expect(error.docs).toBe(`docs/errors.md#${section}`);
  expect(error.message.split("\n").at(-1)).toBe(`See ${error.docs} of tradewire.`);
  expect(error.toJSON()).toMatchObject({ docs: error.docs });
});
