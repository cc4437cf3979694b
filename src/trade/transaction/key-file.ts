import type { Stats } from "node:fs";
import fs from "node:fs";
import { Code } from "../../base/errors/code.js";
import { FileError } from "../../base/errors/index.js";
import { fileError, shownPath } from "../../base/errors/node-errors.js";
import { currentUser, entryExposure, pathExposure } from "../../base/file/exposure.js";
import { assertText } from "../../base/input/assert.js";
import { fillRandom } from "../../base/runtime/index.js";
import { SEED_BYTES, type SeedSigner, type Signer, secretBytes, signerFromSeed } from "./signer.js";

const LINE_END = 0x0a;

/** 64 hex digits and a line end. */
const FILE_BYTES = 2 * SEED_BYTES + 1;

/** The permission bits of everyone but the owner. */
const OF_OTHERS = 0o077;

/**
 * Creates a key: writes a new random seed to a file that only its owner may read (mode 600). An existing file is not
 * changed.
 *
 * @param path the file's path; its folder must exist
 * @returns the public key, 64 hex digits in lower case
 * @throws {@link FileError} if the file exists or cannot be written, or others can write to a folder above it
 *
 * @example
 * const { publicKey } = await createKeyFile("trader.key");
 */
export async function createKeyFile(path: string): Promise<{ readonly publicKey: string }> {
  assertText("the path of the key file", path, "trading.key");
  const seed = fillRandom(secretBytes(SEED_BYTES));
  const text = Buffer.alloc(FILE_BYTES).fill(LINE_END);
  seed.forEach((byte, index) => {
    text[2 * index] = digit(byte >> 4);
    text[2 * index + 1] = digit(byte & 15);
  });
  let isMade = false;
  try {
    requirePrivateFolders(path);
    await using file = await fs.promises.open(path, "wx", 0o600);
    isMade = true;
    await file.writeFile(text);
    await file.sync();
    using signer = signerFromSeed(seed);
    return { publicKey: signer.publicKey };
  } catch (reason) {
    if (isMade) {
      await fs.promises.rm(path).catch(() => undefined); // The first error is reported.
    }
    throw reason instanceof FileError ? reason : fileError(reason, path, ADVICE);
  } finally {
    seed.fill(0);
    text.fill(0);
  }
}

/**
 * Creates a signer from a key file: a seed as 64 hex digits, in a file that only its owner may read.
 *
 * The seed is read for each signature and wiped afterwards, so that it is in memory only briefly.
 *
 * @param path the file's path
 * @returns the signer; its `sign` throws a {@link FileError} if the file can no longer be read or contains another key
 * @throws {@link FileError} if the file cannot be read, is a pipe or contains no seed, or others can read or replace it
 *
 * @example
 * const signer = await signerFromKeyFile("trader.key");
 * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
 */
export async function signerFromKeyFile(path: string): Promise<Signer> {
  assertText("the path of the key file", path, "trading.key");
  using first = await readKeyFile(path);
  const { publicKey } = first;
  return Object.freeze({
    publicKey,
    async sign(message: Uint8Array): Promise<Uint8Array> {
      using signer = await readKeyFile(path);
      if (signer.publicKey !== publicKey) {
        throw refusal(path, "the key file contains a different key than before", {
          code: Code.FailedPrecondition,
          advice: `Restore the key of ${publicKey}, or create a signer for the new key.`,
        });
      }
      return await signer.sign(message);
    },
  });
}

/** Reads a key file as bytes, because a string cannot be wiped. */
async function readKeyFile(path: string): Promise<SeedSigner> {
  const text = Buffer.alloc(FILE_BYTES + 2);
  const seed = secretBytes(SEED_BYTES);
  try {
    // Without O_NONBLOCK, the opening of a pipe waits for a writer, and no signal ends that wait.
    const { constants, promises } = fs;
    await using file = await promises.open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    requirePrivate(path, await file.stat());
    const { bytesRead } = await file.read(text, 0, text.length, 0);
    if (!parseSeed(text.subarray(0, bytesRead), seed)) {
      throw refusal(path, "not a key file", {
        code: Code.InvalidArgument,
        advice: "A key file contains a seed of 64 hex digits and nothing else.",
      });
    }
    return signerFromSeed(seed);
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, path, ADVICE);
  } finally {
    text.fill(0);
    seed.fill(0);
  }
}

/** Advice where a key file cannot be read or made. */
const ADVICE = {
  ENOENT: "Check the path. `tradewire keys new FILE` creates a key file in an existing folder.",
  EEXIST: "Choose another name: a key file is never overwritten.",
};

/** Refuses a path that is not a file, and a file that others can read, write or replace. */
function requirePrivate(path: string, stats: Stats): void {
  if (!stats.isFile()) {
    throw refusal(path, "not a regular file", {
      code: Code.InvalidArgument,
      advice:
        "A key file is read for each signature. Save the key in a file with mode 600, or set TRADEWIRE_SEED to the key.",
    });
  }
  const user = currentUser();
  if (user === undefined) {
    return;
  }
  if (stats.uid !== user) {
    throw refusal(path, `another user (uid ${stats.uid}) owns the key file`, {
      code: Code.PermissionDenied,
      advice: "Use a key file that you own: the owner can read and change it.",
    });
  }
  if ((stats.mode & OF_OTHERS) !== 0) {
    throw refusal(path, `other users can read or change the key file (${octal(stats.mode)})`, {
      code: Code.PermissionDenied,
      advice: "If others may have read this key, use another one. Otherwise restrict the file: chmod 600.",
    });
  }
  requireOwnEntry(path, user);
  requirePrivateFolders(path);
}

/** Refuses a symbolic link of another user: its owner chooses which key signs. */
function requireOwnEntry(path: string, user: number): void {
  const found = entryExposure(path, user, "the link to it");
  if (found !== undefined) {
    throw refusal(path, found, { code: Code.PermissionDenied, advice: "Use the path of the key file itself." });
  }
}

/** Refuses a key file below a folder in which others can put another file or folder in its place. */
function requirePrivateFolders(path: string): void {
  const user = currentUser();
  const found = user === undefined ? undefined : pathExposure(path, user);
  if (found !== undefined) {
    throw refusal(path, `${found}, so others can replace the key`, {
      code: Code.PermissionDenied,
      advice:
        "Move the key to a folder that only you can write to, or correct the folder's permissions: chmod go-w, chown.",
    });
  }
}

function refusal(path: string, what: string, options: { readonly code: Code; readonly advice: string }): FileError {
  return new FileError(`${shownPath(path)}: ${what}`, options);
}

/** Reads 64 hex digits, which one line end may follow, into `seed`. No string holds more than one of the digits. */
function parseSeed(text: Uint8Array, seed: Uint8Array): boolean {
  if (!/^(\r?\n)?$/.test(Buffer.from(text.subarray(2 * SEED_BYTES)).toString("latin1"))) {
    return false;
  }
  for (const index of seed.keys()) {
    const byte = 16 * digitValue(text[2 * index]) + digitValue(text[2 * index + 1]);
    if (Number.isNaN(byte)) {
      return false;
    }
    seed[index] = byte;
  }
  return true;
}

function digit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value;
}

/** The value of a hex digit of either case, given as a character code; `NaN` if it is not one. */
function digitValue(code = 0): number {
  return Number.parseInt(String.fromCharCode(code), 16);
}

function octal(mode: number): string {
  return `mode ${(mode & 0o777).toString(8)}`;
}
