import { readdir, readFile } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import * as library from "tradewire";
import { DivergenceError, SinkError } from "tradewire/sync";
import { ERROR_CODES, errorTable } from "./inside.js";

const errors = { ...library, DivergenceError, SinkError };

const page = await readFile(new URL("../../docs/errors.md", import.meta.url), "utf8");
const classes = Object.keys(errors).filter((name) => name.endsWith("Error"));
const codes = Object.entries(ERROR_CODES);

it("has a section for each class of errors, and none for other classes", () => {
  const ofClasses = [...page.matchAll(/^## (\w+Error)$/gm)].map(([, name]) => name);
  expect(ofClasses.sort()).toEqual(classes.sort());
});

it("has the table of the codes of each class (npm run generate:reference)", () => {
  const concrete = classes.filter((name) => name !== "TradewireError");
  for (const name of concrete) {
    expect(page).toMatch(new RegExp(`^## ${name}\n`, "m"));
    expect(page.slice(page.indexOf(`\n## ${name}\n`)).split("\n## ")[1]).toContain(errorTable(name));
  }
  expect([...new Set(codes.map(([, { class: name }]) => name))].sort()).toEqual(concrete.sort());
});

it("has one anchor for each code", () => {
  const anchors = [...page.matchAll(/<a id="(\w+)">/g)].map(([, anchor]) => anchor);
  expect(anchors.sort()).toEqual(codes.map(([code]) => code.toLowerCase()).sort());
});

it("has no code that no error has", async () => {
  const sources = new URL("../../src/", import.meta.url);
  const names = await readdir(sources, { recursive: true });
  const others = names.filter((name) => name.endsWith(".ts") && !name.endsWith("error-codes.ts"));
  const texts = await Promise.all(others.map((name) => readFile(new URL(name, sources), "utf8")));
  const used = new Set(texts.flatMap((text) => text.match(/"TW_\w+"/g) ?? []));
  expect([...used].sort()).toEqual(codes.map(([code]) => JSON.stringify(code)).sort());
});

const options = { code: Code.Unavailable, advice: "Wait." };
it.each([
  [new errors.RequestError("x", { advice: "" }), "TW_INVALID_ARGUMENT"],
  [new errors.CommandError([]), "TW_INVALID_COMMAND"],
  [new errors.NodeError({ code: Code.NotFound, message: "", details: [] }), "TW_NODE_NOT_FOUND"],
  [new errors.NodeError({ code: Code.ResourceExhausted, message: "", details: [] }), "TW_NODE_RATE_LIMITED"],
  [new errors.NodeError({ code: Code.Internal, message: "", details: [] }), "TW_NODE_FAILED"],
  [new errors.ConnectionError("x", { ...options, connected: false }), "TW_UNREACHABLE"],
  [new errors.ConnectionError("x", options), "TW_CONNECTION_LOST"],
  [new errors.ConnectionError("x", { ...options, isClosed: true }), "TW_CLIENT_CLOSED"],
  [new errors.ConnectionError("x", { ...options, code: Code.DeadlineExceeded }), "TW_TIMEOUT"],
  [new errors.ProtocolError("x", { advice: "" }), "TW_PROTOCOL"],
  [new errors.ProtocolError("x", { advice: "", errorCode: "TW_INVALID_CSV" }), "TW_INVALID_CSV"],
  [new errors.FileError("x", { ...options, code: Code.ResourceExhausted }), "TW_DISK_FULL"],
  [new errors.FileError("x", { ...options, code: Code.Unknown }), "TW_FILE_FAILED"],
  [new errors.SinkError("x", options), "TW_SINK_UNREACHABLE"],
  [new errors.BannedError(new Date(0)), "TW_BANNED"],
  [new errors.CanceledError(), "TW_CANCELED"],
  [new errors.DivergenceError("x", ""), "TW_DIVERGENCE"],
])("%s has the code %s", (error, errorCode) => {
  expect(error.errorCode).toBe(errorCode);
  expect(error.explanation).toBe(`For details, run: npx tradewire explain ${errorCode}`);
  expect(error.toJSON()).toMatchObject({ errorCode });
  expect(error.name).toBe(codes.find(([code]) => code === errorCode)?.[1].class);
});
