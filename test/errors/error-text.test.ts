import { expect, it } from "@jest/globals";
import { closestName, suggestNames } from "../../src/errors/error-text.js";

it.each([
  ["trads", ["orders", "trades"], "trades"],
  ["TRADES", ["orders", "trades"], "trades"],
  // An ending that is left out is nearer than another word.
  ["GRPC_WINDOW", ["GRPC_CODEC", "GRPC_WINDOW_BYTES"], "GRPC_WINDOW_BYTES"],
  // Half of the characters are the same: the farthest that is still meant.
  ["abcd", ["abxy"], "abxy"],
  ["abcd", ["axyz"], undefined],
  ["", ["trades"], undefined],
])("takes %j for the nearest of %j", (name, candidates, meant) => {
  expect(closestName(name, candidates)).toBe(meant);
});

it("names all that there is, and the nearest first", () => {
  expect(suggestNames("trads", ["orders", "trades"])).toBe("Did you mean trades? There are orders, trades.");
  expect(suggestNames("xyz", ["orders", "trades"])).toBe("There are orders, trades.");
});
