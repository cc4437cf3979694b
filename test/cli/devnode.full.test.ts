import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { tableNames } from "tradewire";
import { startProcess } from "../support/command-process.js";

const NODE = [
  "devnode",
  "-o",
  "table",
  "--segments",
  "1",
  "--blocks-per-segment",
  "10",
  "--grpc-port",
  "0",
  "--rest-port",
  "0",
];

it.each(["SIGINT", "SIGTERM"] as const)("tradewire devnode runs until %s, and ends well", async (signal) => {
  const { child, firstLine, ended } = startProcess(NODE);
  expect(await firstLine).toMatch(/^gRPC http:\/\/127\.0\.0\.1:\d+$/);
  child.kill(signal);
  expect(await ended).toMatchObject({ code: 0, err: expect.stringMatching(/ is running; Ctrl-C stops it\.\n$/) });
});

it("tradewire devnode takes rows of every table without a warning of the runtime", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-devnode-"));
  const args = await Promise.all(
    tableNames.map(async (table) => {
      const path = join(folder, `none-${table}.csv`);
      await writeFile(path, "vega_time\n");
      return ["--genesis", `${table}=${path}`];
    }),
  );
  const { child, firstLine, ended } = startProcess([...NODE, ...args.flat()]);
  await firstLine;
  child.kill("SIGTERM");
  const { code, err } = await ended;
  expect(code).toBe(0);
  expect(err).not.toMatch(/Warning/u);
  await rm(folder, { recursive: true });
});
