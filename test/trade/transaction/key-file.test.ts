import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  lchown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createKeyFile, FileError, signerFromKeyFile, signerFromSeed } from "tradewire";
import { seed, sender } from "../../support/transactions.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const text = (value: string) => new TextEncoder().encode(value);

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
    await expect(signerFromKeyFile(pipe)).rejects.toThrow("not a regular file");
    await expect(signerFromKeyFile(folder)).rejects.toThrow(
      "not a regular file\nA key file is read for each signature.",
    );
  });

  test("is refused in a folder that others can write to, unless each may change only what is their own", async () => {
    const reason = (name: string, mode: string) =>
      `can write to the folder "${join(folder, name)}" (mode ${mode}), so others can replace the key\nMove the key`;
    await expect(signerFromKeyFile(await keyIn("open", 0o777))).rejects.toThrow(`everyone ${reason("open", "777")}`);
    expect((await signerFromKeyFile(await keyIn("sticky", 0o1777))).publicKey).toBe(sender.publicKey);
    const link = join(folder, "link");
    await symlink(join(folder, "open", "key"), link);
    await expect(signerFromKeyFile(link)).rejects.toThrow(reason("open", "777"));
    await expect(createKeyFile(join(folder, "open", "new"))).rejects.toThrow(reason("open", "777"));
    expect(await readdir(join(folder, "open"))).toEqual(["key"]);
  });

  // OpenSSH, misc.c: safe_path() looks at every folder up to the user's home or to the root, with the bits 022.
  (isRoot ? describe : describe.skip)("below a folder in which others can replace it", () => {
    const below = (name: string) => join(folder, name, "key");
    async function keyBelow(name: string, change: (folder: string) => Promise<void>): Promise<string> {
      const parent = await keyIn(name, 0o700).then(() => join(folder, name));
      const inner = join(parent, "inner");
      await mkdir(inner, { mode: 0o700 });
      await writeFile(join(inner, "key"), seed, { mode: 0o600 });
      await change(parent);
      return join(inner, "key");
    }

    test.each<[string, (folder: string) => Promise<void>, string]>([
      ["of a group", (path) => chmod(path, 0o770), "the group 0 can write to the folder"],
      ["of everyone", (path) => chmod(path, 0o707), "everyone can write to the folder"],
      ["of another user", (path) => chown(path, 54_321, 0), "another user (uid 54321) owns the folder"],
    ])("%s is refused, with the folder's name", async (name, change, reason) => {
      const path = await keyBelow(name, change);
      const message = `${reason} ${JSON.stringify(join(folder, name))}`;
      await expect(signerFromKeyFile(path)).rejects.toThrow(message);
      await expect(signerFromKeyFile(below(name))).rejects.toThrow(message);
      await expect(createKeyFile(join(folder, name, "inner", "new"))).rejects.toThrow(message);
      const link = join(folder, `link-${Buffer.from(name).toString("hex")}`);
      await symlink(join(folder, name, "inner"), link);
      await expect(signerFromKeyFile(join(link, "key"))).rejects.toThrow(message);
    });

    test("is refused by a link of another user, who chooses the key", async () => {
      const link = join(folder, "foreign-link");
      await symlink(await keyIn("linked", 0o700), link);
      expect((await signerFromKeyFile(link)).publicKey).toBe(sender.publicKey);
      await lchown(link, 54_321, 54_321);
      await expect(signerFromKeyFile(link)).rejects.toThrow("another user (uid 54321) owns the link to it");
    });

    test("is accepted below a sticky one, and below one of root", async () => {
      const path = await keyBelow("sticky-parent", (parent) => chmod(parent, 0o1777));
      expect((await signerFromKeyFile(path)).publicKey).toBe(sender.publicKey);
    });
  });

  (isRoot ? test : test.skip)("is refused where another user owns it", async () => {
    const path = await keyIn("others", 0o700);
    await chown(path, 1, 1);
    await expect(signerFromKeyFile(path)).rejects.toThrow(
      "another user (uid 1) owns the key file\nUse a key file that you own",
    );
  });

  test("is taken as it is on a system without owners and permission bits", async () => {
    const path = await keyIn("windows", 0o777);
    await chmod(path, 0o666);
    const { geteuid } = process;
    try {
      delete process.geteuid;
      expect((await signerFromKeyFile(path)).publicKey).toBe(sender.publicKey);
      await createKeyFile(join(folder, "windows", "new"));
    } finally {
      Object.assign(process, { geteuid });
    }
  });

  test("that cannot be written is removed, and the reason told", async () => {
    await using any = await open(folder);
    const full = () => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    jest.spyOn(Object.getPrototypeOf(any), "sync").mockImplementation(full);
    try {
      await expect(createKeyFile(join(folder, "full"))).rejects.toThrow("the disk is full");
      expect(await readdir(folder)).not.toContain("full");
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("leaves none of its digits in memory", async () => {
    const allocated = jest.spyOn(Buffer, "alloc");
    try {
      const path = join(folder, "wiped");
      await createKeyFile(path);
      await (await signerFromKeyFile(path)).sign(text("x"));
      const buffers = allocated.mock.results.flatMap(({ value }) => (Buffer.isBuffer(value) ? [value] : []));
      const digits = (await readFile(path, "latin1")).slice(0, 64);
      // One that is written, and one for each time that the file is read.
      expect(buffers.filter(({ length }) => length > digits.length)).toHaveLength(3);
      expect(buffers.map(hex).join("")).toMatch(/^0*$/);
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("that is missing, or there already, comes with advice that fits", async () => {
    const missing = signerFromKeyFile(join(folder, "missing"));
    await expect(missing).rejects.toThrow(
      "no such file or directory\nCheck the path. `tradewire keys new FILE` creates a key file",
    );
    await createKeyFile(join(folder, "there"));
    const again = createKeyFile(join(folder, "there"));
    await expect(again).rejects.toThrow("file already exists\nChoose another name: a key file is never overwritten.");
    await expect(createKeyFile(join(folder, "no", "key"))).rejects.toThrow(
      "no such file or directory\nCheck the path.",
    );
  });

  test.each([seed, `0x${seed}`, seed.toUpperCase(), `${seed}0`, seed.slice(1), `folder/${seed}`])(
    "does not show a seed in the place of its path: %s",
    async (path) => {
      const error = await signerFromKeyFile(path).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        message: expect.stringMatching(/^(folder\/)?\*\*\*: no such file or directory$/m),
      });
      expect(inspect(error, { depth: 10, showHidden: true }).toLowerCase()).not.toContain(seed.slice(8, 40));
    },
  );
});

describe("the key in a file", () => {
  test("is made for its owner alone, and signs", async () => {
    const path = join(folder, "made");
    const { publicKey: made } = await createKeyFile(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const seed = (await readFile(path, "latin1")).trim();
    expect(seed).toMatch(/^[0-9a-f]{64}$/);
    const signer = await signerFromKeyFile(path);
    expect(signer.publicKey).toBe(made);
    expect(hex(await signer.sign(text("x")))).toBe(hex(await signerFromSeed(seed).sign(text("x"))));
    expect(inspect(signer, { showHidden: true })).not.toContain(seed);
  });

  test("does not take the place of a file", async () => {
    const path = join(folder, "mine");
    await writeFile(path, "mine");
    await expect(createKeyFile(path)).rejects.toThrow("file already exists");
    expect(await readFile(path, "utf8")).toBe("mine");
  });

  test.each([0o640, 0o604, 0o620, 0o601, 0o644])("is refused with mode %o", async (mode) => {
    const path = join(folder, `mode-${mode}`);
    await writeFile(path, "ab".repeat(32));
    await chmod(path, mode);
    const error = await signerFromKeyFile(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FileError);
    expect(String(error)).toMatch(/other users can read or change the key file \(mode 6\d\d\)\n.*chmod 600/);
  });

  test.each([
    ["", true],
    ["\n", true],
    ["\r\n", true],
    ["\n\n", false],
    ["0", false],
    ["\nmore of it", false],
  ])("may end in %j: %j", async (end, good) => {
    const path = join(folder, `end-${Buffer.from(end).toString("hex")}`);
    await writeFile(path, "AB".repeat(32) + end, { mode: 0o600 });
    const made = signerFromKeyFile(path).then(({ publicKey: key }) => key);
    if (good) {
      expect(await made).toBe(signerFromSeed("ab".repeat(32)).publicKey);
    } else {
      const error = await made.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(FileError);
      expect(inspect(error)).not.toMatch(/abab/i);
    }
  });

  test("of less than a seed, or of none, is refused", async () => {
    const start = "ab".repeat(31);
    for (const content of ["", start, `${start}a`, `${start}az`, `${start}za`, `${start} a`, "zz".repeat(32)]) {
      const path = join(folder, `bad-${Buffer.from(content).toString("hex")}`);
      await writeFile(path, content, { mode: 0o600 });
      await expect(signerFromKeyFile(path)).rejects.toThrow(
        "not a key file\nA key file contains a seed of 64 hex digits and nothing else.",
      );
    }
    await expect(signerFromKeyFile(join(folder, "missing"))).rejects.toThrow("no such file or directory");
  });

  test("that changed signs nothing", async () => {
    const path = join(folder, "changed");
    await writeFile(path, "ab".repeat(32), { mode: 0o600 });
    const signer = await signerFromKeyFile(path);
    await writeFile(path, "cd".repeat(32));
    await expect(signer.sign(text("x"))).rejects.toThrow(
      `contains a different key than before\nRestore the key of ${signer.publicKey}`,
    );
  });
});
