import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { zipOf } from "../support/archives.js";
import { run } from "../support/command.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-merge-"));
  const save = async (name: string, from: number, csv: string) => {
    const file = `chain-1-trades-${from}-${from + 999}.csv`;
    await writeFile(join(folder, name), await zipOf({ [file]: Buffer.from(csv) }, { streamed: true }));
  };
  await save("a.zip", 1, 'id,note\n1,\n2,""\n');
  await save("b.zip", 1001, "id,note\n3,x\n");
  await save("d.zip", 3001, "id,note\n4,x\n");
});
afterEach(() => rm(folder, { recursive: true }));

describe("tradewire merge", () => {
  it("joins archives whose ranges follow one another", async () => {
    const outcome = await run(["merge", "a.zip", "b.zip", "--to", "c.zip", "-o", "table"], { cwd: folder });
    expect(outcome).toMatchObject({ code: 0, out: `${join(folder, "c.zip")}\n` });
    expect(outcome.err).toContain("chain-1-trades-1-2000.csv");
    expect((await run(["rows", "c.zip"], { cwd: folder })).out).toBe(
      '{"id":"1","note":null}\n{"id":"2","note":""}\n{"id":"3","note":"x"}\n',
    );
  });

  it("names what it makes as deployed nodes do, in their profile", async () => {
    const { code, out, err } = await run(
      ["merge", "a.zip", "b.zip", "--to", "new/", "--profile", "deployed", "-o", "table"],
      { cwd: folder },
    );
    expect({ code, out }).toEqual({ code: 0, out: `${join(folder, "new", "chain-1-trades-000001-002000.zip")}\n` });
    expect(err).toContain("chain-1-trades-000001-002000.csv");
  });

  it("prints a JSON object, and replaces a file only when forced to", async () => {
    const merge = (...options: string[]) =>
      run(["merge", "a.zip", "b.zip", "--to", "c.zip", ...options], { cwd: folder });
    expect(JSON.parse((await merge("--json")).out)).toMatchObject({
      path: join(folder, "c.zip"),
      entries: [{ name: "chain-1-trades-1-2000.csv" }],
    });
    expect(await merge()).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("file already exists\n"),
    });
    expect(await merge("--force")).toMatchObject({ code: 0 });
  });

  it.each([[["a.zip", "d.zip"]], [["a.zip", "a.zip"]], [["a.zip", "nothing.zip"]]])(
    "refuses %j, and leaves nothing",
    async (files) => {
      const outcome = await run(["merge", ...files, "--to", "c.zip"], { cwd: folder });
      expect(outcome.code).not.toBe(0);
      expect(outcome).toMatchObject({ out: "", err: expect.stringMatching(/^tradewire: .+\n.+\n/) });
      expect(await readdir(folder)).toEqual(["a.zip", "b.zip", "d.zip"]);
    },
  );

  it("wants to know where to save to", async () => {
    expect(await run(["merge", "a.zip", "b.zip"], { cwd: folder })).toMatchObject({ code: 2, out: "" });
  });

  it("makes an archive that unzip finds sound", async () => {
    expect(await run(["merge", "a.zip", "b.zip", "--to", "c.zip"], { cwd: folder })).toMatchObject({ code: 0 });
    const { stdout } = await promisify(execFile)("unzip", ["-tq", join(folder, "c.zip")]);
    expect(stdout).toContain("No errors detected");
  });
});
