import { PassThrough } from "node:stream";
import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { NodeError, TransactionError } from "tradewire";
import { errorText, indentedJson, json } from "../../src/cli/output.js";
import { createProgress, textTerminal } from "./inside.js";

it("errors are cut: their message, their details, and what the network said", () => {
  const long = "m".repeat(10 * 1024 * 1024);
  const details = [{ "@type": "x/y", long }];
  expect(errorText(new NodeError({ code: Code.Internal, message: long, details })).length).toBeLessThan(5000);
  const result = { success: false, txHash: "", code: 60, data: long, log: "", height: 0n };
  expect(errorText(new TransactionError(result)).length).toBeLessThan(5000);
  expect(json({ a: "\u202e" })).toBe('{"a":"\\u202e"}\n');
});

it("answers are indented for a person, and escaped all the same", () => {
  expect(indentedJson({ a: ["\u202e\n"], b: {} })).toBe('{\n  "a": [\n    "\\u202e\\n"\n  ],\n  "b": {}\n}\n');
});

it("text for a terminal is broken at words, and takes the place of a progress line", () => {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 20 });
  const notes = textTerminal(stream, {});
  const progress = createProgress({ notes, environment: {} });
  notes.write("Submitting 0123456789012345678901234 to a node.\n  value    0123456789 0123456789\n");
  notes.write("tradewire: call 1\n");
  progress.end();
  expect(String(stream.read())).toBe(
    "\r\x1b[Kwaiting for the node …\r\x1b[KSubmitting\n0123456789012345678901234\nto a node.\n" +
      "  value    0123456789 0123456789\ntradewire: call 1\n\r\x1b[K",
  );
  const pipe = new PassThrough();
  expect(textTerminal(pipe, {})).toBe(pipe);
});
