import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { startDevnode } from "tradewire/devnode";
import { start } from "../support/command-process.js";
import { installExample } from "../support/example.js";

let folder: string;

beforeAll(async () => {
  ({ folder } = await installExample("own-sink"));
});

afterAll(() => rm(folder, { recursive: true }));

it("brings trades and orders into files, and nothing a second time", async () => {
  await using node = await startDevnode({ blockMs: 0, segments: 2, blocksPerSegment: 10 });
  const run = () => start(process.execPath, ["main.js", node.grpcUrl, "history"], folder).ended;
  const first = await run();
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toMatch(/^trades 1-10: \d+ rows$/m);
  expect(first.out).toMatch(/^orders 11-20: \d+ rows$/m);
  expect(first.out).toMatch(/\n4 units loaded\n$/);
  expect(await run()).toEqual({ code: 0, err: "", out: "0 units loaded\n" });
});

it("says what is wrong with a URL, and what to do", async () => {
  const { code, err } = await start(process.execPath, ["main.js", "junk", "history"], folder).ended;
  expect(code).toBe(1);
  expect(err).toMatch(/^the configuration is invalid: grpc\.url must be.*\nCorrect these values\. .*\n$/);
});

it("passes the contract in Node's own test runner", async () => {
  const { code, out } = await start(process.execPath, ["--test", "contract.test.js"], folder).ended;
  expect(out).toMatch(/^# fail 0$|^ℹ fail 0$/m);
  expect(out).toMatch(/^# pass [1-9]\d|^ℹ pass [1-9]\d/m);
  expect(code).toBe(0);
});
