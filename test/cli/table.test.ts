import { expect, it } from "@jest/globals";
import { describeOmissions, fitTable } from "../../src/cli/table.js";

const ID = "0123456789abcdef0123456789abcdef";
const ROWS = [
  [ID, "7", "値段が高い"],
  ["short", "1234", "low"],
];

it("aligns columns by the width that a terminal gives characters", () => {
  expect(fitTable(["id", "size", "note"], ROWS).text).toBe(
    `id                                size  note\n${ID}     7  値段が高い\nshort                             1234  low\n`,
  );
  const rows = [
    ["高い", "x"],
    ["abcd", "y"],
  ];
  expect(fitTable(["a", "b"], rows).text).toBe("a     b\n高い  x\nabcd  y\n");
});

it("aligns numbers to the right, also negative ones", () => {
  expect(fitTable(["pnl"], [["-1.5"], ["12.25"]]).text).toBe("  pnl\n -1.5\n12.25\n");
});

it("shortens cells of the lowest rank first, and then leaves columns out", () => {
  const fitted = (width: number, ranked?: number[]) => {
    const table = fitTable(["id", "size", "note"], ROWS, { width, ranked });
    return {
      text: table.text,
      leftOut: describeOmissions([table], "Use --json to print all.", Number.POSITIVE_INFINITY),
    };
  };
  expect(fitted(50)).toEqual({ text: fitTable(["id", "size", "note"], ROWS).text, leftOut: "" });
  const cut = fitted(44);
  expect(cut.text.split("\n")[1]).toBe("0123456789abcdef012345678…     7  値段が高い");
  expect(cut.leftOut).toBe("Long values are shortened to fit the terminal. Use --json to print all.");
  const narrow = fitted(32, [2, 0, 1]);
  expect(narrow.text.split("\n")[0]).toBe("id                    note");
  expect(narrow.leftOut).toContain("hidden to fit the terminal: size. ");
  const whole = fitTable(["id", "size", "note"], ROWS, { width: 44, prefers: "values" });
  expect(whole.text.split("\n")[1]).toBe(`${ID}     7`);
  const one = fitted(6, [2, 0, 1]);
  expect(one.text).toBe("note\n値段…\nlow\n");
});
