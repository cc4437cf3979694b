import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { builtProgram } from "../../support/built-program.js";
import { start } from "../../support/command-process.js";
import { openMarket } from "../../support/devnode.js";

let node: Devnode;
let program: string;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 300, segments: 1, blocksPerSegment: 10 });
  program = await builtProgram("test/support/locked-program.ts", "locked");
});
afterAll(async () => {
  await node.close();
  rmSync(program, { force: true });
});

const EXTENDED = "Object.prototype.extended = () => 1; Object.prototype.other = { a: 1 };";

it.each([
  ["whose intrinsics are frozen", ["--frozen-intrinsics"], "01"],
  ["in which Object.prototype has enumerable properties", ["--import", `data:text/javascript,${EXTENDED}`], "02"],
])("a process %s makes calls, exports and transactions", async (_, flags, seed) => {
  const args = [...flags, program, node.grpcUrl, node.restUrl, seed.repeat(32), openMarket];
  const { code, out, err } = await start(process.execPath, args, undefined, { NODE_NO_WARNINGS: "1" }).ended;
  expect({ code, out, err }).toEqual({ code: 0, out: "grpc done\ngrpc-js done\nrest done\n", err: "" });
});
