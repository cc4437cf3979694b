import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createKeyFile, signerFromKeyFile } from "../../src/transaction/key-file.js";
import { seed, sender } from "../support/transactions.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-key-file-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Write the seed to a file in a new folder of a mode. */
async function keyIn(name: string, mode: number): Promise<string> {
  const within = join(folder, name);
  await mkdir(within);
  const path = join(within, "key");
  await writeFile(path, seed, { mode: 0o600 });
  await chmod(within, mode);
  return path;
}

const isRoot = process.geteuid?.() === 0;

describe("a key file", () => {
  test("is refused at once where it is a pipe", async () => {
    const pipe = join(folder, "pipe");
    await promisify(execFile)("mkfifo", ["-m", "600", pipe]);
    await expect(signerFromKeyFile(pipe)).rejects.toThrow("it is a folder, a pipe or a device, not a file");
    await expect(signerFromKeyFile(folder)).rejects.toThrow("not a file\nA key file is read for each signature.");
  });

  test("is refused in a folder that all may write to, unless each may change only what is their own", async () => {
    await expect(signerFromKeyFile(await keyIn("open", 0o777))).rejects.toThrow(
      "all may write to its folder (mode 777)",
    );
    expect((await signerFromKeyFile(await keyIn("sticky", 0o1777))).publicKey).toBe(sender.publicKey);
    const link = join(folder, "link");
    await symlink(join(folder, "open", "key"), link);
    await expect(signerFromKeyFile(link)).rejects.toThrow("all may write to its folder");
    await expect(createKeyFile(join(folder, "open", "new"))).rejects.toThrow("all may write to its folder");
    expect(await readdir(join(folder, "open"))).toEqual(["key"]);
  });

  (isRoot ? test : test.skip)("is refused where another user owns it", async () => {
    const path = await keyIn("others", 0o700);
    await chown(path, 1, 1);
    await expect(signerFromKeyFile(path)).rejects.toThrow("its owner is another user (1)");
  });

  test("that is missing, or there already, comes with advice that fits", async () => {
    const missing = signerFromKeyFile(join(folder, "missing"));
    await expect(missing).rejects.toThrow("it does not exist\nCheck the path. `tradewire keys new FILE` makes a key");
    await createKeyFile(join(folder, "there"));
    const again = createKeyFile(join(folder, "there"));
    await expect(again).rejects.toThrow("it exists already\nChoose another name: a key is never replaced.");
    await expect(createKeyFile(join(folder, "no", "key"))).rejects.toThrow("it does not exist\nCheck the path.");
  });

  test.each([seed, `0x${seed}`, seed.toUpperCase(), `${seed}0`, seed.slice(1), `folder/${seed}`])(
    "does not show a seed in the place of its path: %s",
    async (path) => {
      const error = await signerFromKeyFile(path).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ message: expect.stringMatching(/^"(folder\/)?\*\*\*": it does not exist\n/) });
      expect(inspect(error, { depth: 10, showHidden: true }).toLowerCase()).not.toContain(seed.slice(8, 40));
    },
  );
});
