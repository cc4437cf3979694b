import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { NodeError, TransactionError } from "tradewire";
import { errorText, indentedJson, json } from "../../src/cli/output.js";

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
