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
  [["exp"], ["export", "explain", ":end"]],
  [
    ["explain", "TW_BAN"],
    ["TW_BANNED", ":end"],
  ],
  [
    ["help", "stop"],
    ["stop-orders", ":end"],
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
  [["he"], ["help", ":end"]],
  [
    ["help", "sync", "st"],
    ["status", ":end"],
  ],
  [["export", "--table", "trades", "--to", ""], [":files"]],
  [["export", "--table", "trades", "--tabl=trades"], [":end"]],
  [["segments", "gr"], [":end"]],
  [
    ["segments", "--grpc-url", "sync", "--tran"],
    ["--transport", ":end"],
  ],
  [
    ["submit", "order.json", "--wait", "--dry"],
    ["--dry-run", ":end"],
  ],
  [["submit", "order.json", "--wait", "1"], [":end"]],
  [["merge", "one.zip", "two.zip", ""], [":files"]],
  [["inspect", "one.zip", ""], [":end"]],
  [["inspect", ""], [":files"]],
  [["params", "--ca-file", "x"], [":files"]],
  [["devnode", "--genesis", "trades=x"], [":files"]],
])("completes %j", async (words, expected) => {
  expect((await completed(...words)).toSorted()).toEqual(expected.toSorted());
});

it("describes commands and options", async () => {
  const { out } = await run(["__complete", "segme"]);
  expect(out).toMatch(/^segments\t[A-Z][^\n]+\n:end\n$/);
  expect((await run(["__complete", "segments", "--grpc"])).out).toBe(
    "--grpc-url\tgRPC URL of the node, or of several nodes of one network\n:end\n",
  );
});

it.each(["bash", "zsh", "fish"])("prints what makes %s ask", async (shell) => {
  const { code, out } = await run(["completion", shell]);
  expect(code).toBe(0);
  expect(out).toContain("__complete");
});
