import { expect, it } from "@jest/globals";
import { run } from "../support/command.js";

/** What may stand in place of the last word, without descriptions, and whether files may. */
async function completed(...words: string[]): Promise<string[]> {
  const { code, out, err } = await run(["__complete", ...words]);
  expect([code, err]).toEqual([0, ""]);
  return out
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/\t.*$/, ""));
}

it.each([
  [["ex"], ["export", ":end"]],
  [
    ["help", "stop"],
    ["stop-orders", "stop-order", ":end"],
  ],
  [
    ["sync", "--to", "x", "st"],
    ["status", ":end"],
  ],
  [
    ["export", "--tab"],
    ["--table", ":end"],
  ],
  [
    ["export", "--table", "ma"],
    ["market_data", "margin_levels", "markets", ":end"],
  ],
  [
    ["export", "--table", "trades", "--transport=r"],
    ["--transport=rest", ":end"],
  ],
  [
    ["events", "--type", "transa"],
    ["transactionResult", ":end"],
  ],
  [
    ["call", "ListStop"],
    ["ListStopOrders", ":end"],
  ],
  [
    ["call", "CoreService/GetVega"],
    ["CoreService/GetVegaTime", ":end"],
  ],
  [["inspect", ""], [":files"]],
  [["params", "--ca-file", "x"], [":files"]],
  [["devnode", "--genesis", "trades=x"], [":files"]],
])("completes %j", async (words, expected) => {
  expect((await completed(...words)).toSorted()).toEqual(expected.toSorted());
});

it.each(["bash", "zsh", "fish"])("prints what makes %s ask", async (shell) => {
  const { code, out } = await run(["completion", shell]);
  expect(code).toBe(0);
  expect(out).toContain("__complete");
});
