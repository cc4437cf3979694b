import { expect, it } from "@jest/globals";
import { run } from "../support/command.js";

it("explains the code of an error", async () => {
  const { code, out } = await run(["explain", "TW_FILE_NOT_FOUND", "-o", "table"]);
  expect(code).toBe(0);
  expect(out).toBe(`TW_FILE_NOT_FOUND (FileError)
The file or folder does not exist.

Cause:    The path is misspelled, or its folder does not exist.
Solution: Check the path with \`ls\`. Create folders with \`mkdir -p\`.
Example:  nosuch.zip: file not found
`);
});

it.each(["tw_file_not_found", "file-not-found", "FILE_NOT_FOUND"])("finds the code by %s", async (given) => {
  expect(await run(["explain", given])).toEqual(await run(["explain", "TW_FILE_NOT_FOUND"]));
});

it("breaks the explanation into lines on a narrow terminal", async () => {
  const { out } = await run(["explain", "TW_BLOCK_RANGE"], { terminal: { columns: 60, rows: 20 } });
  expect(out).toMatch(/\nCause: {4}The range is reversed, [^\n]*\n {10}\S/);
  const { out: list } = await run(["explain"], { terminal: { columns: 60, rows: 20 } });
  expect(Math.max(...`${out}${list}`.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
});

it("prints the explanation as JSON", async () => {
  for (const format of [["--json"], []]) {
    const { out } = await run(["explain", "TW_BANNED", ...format]);
    expect(JSON.parse(out)).toMatchObject({ code: "TW_BANNED", class: "BannedError", example: expect.any(String) });
  }
});

it("lists all codes without one", async () => {
  const { code, out } = await run(["explain", "-o", "table"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^TW_FILE_NOT_FOUND +The file or folder does not exist$/m);
  const { out: asJson } = await run(["explain", "--json"]);
  expect(out.split("\n").map((line) => line.split(" ")[0])).toEqual([...Object.keys(JSON.parse(asJson)), ""]);
});

it.each([
  ["TW_FILE", "TW_FILE_NOT_FOUND, TW_FILE_EXISTS, TW_FILE_PERMISSION, TW_FILE_FAILED"],
  ["TW_BANED", "TW_BANNED"],
])("suggests codes near %s", async (given, near) => {
  const { code, err } = await run(["explain", given]);
  expect(code).toBe(2);
  expect(err).toBe(
    `tradewire: unknown error code "${given}"\nDid you mean ${near}? \`tradewire explain\` lists all codes.\n`,
  );
});

it("suggests no code that is only as long as the name", async () => {
  expect((await run(["explain", "NOPE"])).err).toBe(
    'tradewire: unknown error code "NOPE"\n`tradewire explain` lists all codes.\n',
  );
});

it("is what an error on a terminal and in JSON leads to", async () => {
  const { err } = await run(["inspect", "nosuch.zip", "--verbose"]);
  expect(err).toContain("\nFor details, run: npx tradewire explain TW_FILE_NOT_FOUND\n");
  const { out } = await run(["inspect", "nosuch.zip", "--json"]);
  expect(JSON.parse(out)).toMatchObject({ error: { errorCode: "TW_FILE_NOT_FOUND", code: "NOT_FOUND" } });
});
