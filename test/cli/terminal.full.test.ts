import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { shell } from "../support/command-process.js";

describe("output that cannot be written", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewire-full-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(["--version", "--help", "config", "config --json", "no-such-command --json"])(
    "is told in one line: %s > /dev/full",
    async (args) => {
      const outcome = await shell(`tradewire ${args} > /dev/full`, [], folder);
      const told = outcome.err.split("\n").filter((line) => line.startsWith("tradewire: "));
      if (!args.startsWith("no-such")) {
        expect(outcome.err).toBe(
          "tradewire: standard output: the disk is full\nRedirect the output elsewhere, or free some space.\n",
        );
        expect(told).toHaveLength(1);
        expect(outcome.code).toBe(1);
      }
      expect(outcome.code).not.toBe(0);
      expect(await readdir(folder)).toEqual([]);
    },
  );
});
