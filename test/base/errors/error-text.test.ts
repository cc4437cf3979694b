import { expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { closestName, type OptionNames, suggestNames, wordingOf } from "../../../src/base/errors/error-text.js";

it.each([
  ["trads", ["orders", "trades"], "trades"],
  ["TRADES", ["orders", "trades"], "trades"],
  // An ending that is left out is nearer than another word.
  ["GRPC_WINDOW", ["GRPC_CODEC", "GRPC_WINDOW_BYTES"], "GRPC_WINDOW_BYTES"],
  // One character is wrong, or at most a quarter; two that are swapped count as one.
  ["abcdefgh", ["abcdefxy"], "abcdefxy"],
  ["abcdef", ["abcdxy"], undefined],
  ["nwe", ["new"], "new"],
  ["subscribe", ["describe"], undefined],
  ["import", ["export"], undefined],
  ["report", ["export"], undefined],
  ["trace", ["trades"], undefined],
  ["abdc", ["abcd", "abxy"], "abcd"],
  ["markets", ["keys"], undefined],
  ["url", ["transport", "grpc.url"], "grpc.url"],
  ["url", ["grpc-url"], "grpc-url"],
  // The end of a word is no word.
  ["port", ["export", "transport"], undefined],
  ["stop", ["stop-orders"], "stop-orders"],
  ["st", ["stop-orders"], undefined],
  ["", ["trades"], undefined],
])("takes %j for the nearest of %j", (name, candidates, meant) => {
  expect(closestName(name, candidates)).toBe(meant);
});

it("names all that there is, and the nearest first", () => {
  expect(suggestNames("trads", ["orders", "trades"])).toBe("Did you mean trades? Valid names: orders, trades.");
  expect(suggestNames("xyz", ["orders", "trades"])).toBe("Valid names: orders, trades.");
});

it("names options as the library does, or as a command", () => {
  const error = new RequestError((nameOf) => `is above ${nameOf("toBlock")}`, {
    option: "fromBlock",
    advice: (nameOf) => `Check ${nameOf("URLs", "that the URL is right")}, or give ${nameOf("limit")}.`,
    notes: ["fromBlock"],
  });
  expect(error).toMatchObject({
    summary: "fromBlock is above toBlock (fromBlock)",
    advice: "Check that the URL is right, or give limit.",
    option: "fromBlock",
  });
  const flags = new Map([
    ["fromBlock", "--from-block"],
    ["toBlock", "--to-block"],
    ["URLs", "--rest-url"],
  ]);
  const nameOf: OptionNames = (option, words = option) => flags.get(option) ?? words;
  expect(wordingOf(error.texts, nameOf)).toEqual({
    summary: "--from-block is above --to-block (fromBlock)",
    advice: "Check --rest-url, or give limit.",
  });
});
