import { randomFillSync } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { open, realpath, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import { requireText } from "../errors/check-values.js";
import { fileError, quotedPath } from "../errors/file-error.js";
import { FileError } from "../errors/index.js";
import { SEED_BYTES, type SeedSigner, type Signer, secretBytes, signerFromSeed } from "./signer.js";

/** 64 hex digits and a line end. */
const FILE_BYTES = 2 * SEED_BYTES + 1;

/** The permission bits of everyone but the owner; that of all to write; and that which keeps each to their own files. */
const OF_OTHERS = 0o077;
const ALL_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Make a key: write a new random seed to a file that only its owner may read (mode 600). An existing file is left
 * alone.
 *
 * @param path of the file; its folder must exist
 * @returns the public key, 64 hex digits in lower case
 * @throws {@link FileError} where the file exists, cannot be written, or would stand in a folder that all may write to
 *
 * @example
 * const { publicKey } = await createKeyFile("trader.key");
 */
export async function createKeyFile(path: string): Promise<{ readonly publicKey: string }> {
  requireText("the path of the key file", path, "trading.key");
  const seed = randomFillSync(secretBytes(SEED_BYTES));
  const text = Buffer.alloc(FILE_BYTES, "\n");
  seed.forEach((byte, index) => {
    text[2 * index] = digit(byte >> 4);
    text[2 * index + 1] = digit(byte & 15);
  });
  let isMade = false;
  try {
    await requirePrivateFolder(path, dirname(resolve(path)));
    await using file = await open(path, "wx", 0o600);
    isMade = true;
    await file.writeFile(text);
    await file.sync();
    using signer = signerFromSeed(seed);
    return { publicKey: signer.publicKey };
  } catch (reason) {
    if (isMade) {
      await rm(path).catch(() => undefined); // The first error is the one to tell.
    }
    throw reason instanceof FileError ? reason : fileError(reason, path, ADVICE);
  } finally {
    seed.fill(0);
    text.fill(0);
  }
}

/**
 * Make a signer from a key file: a seed as 64 hex digits, in a file that only its owner may read.
 *
 * The seed is read for each signature and wiped after it, so that it is in memory only for a moment.
 *
 * @param path of the file
 * @returns the signer; its `sign` throws a {@link FileError} where the file can no longer be read or holds another key
 * @throws {@link FileError} where the file cannot be read, is a pipe, may be used or replaced by others, or holds no seed
 *
 * @example
 * const signer = await signerFromKeyFile("trader.key");
 * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
 */
export async function signerFromKeyFile(path: string): Promise<Signer> {
  requireText("the path of the key file", path, "trading.key");
  using first = await readKeyFile(path);
  const { publicKey } = first;
  return Object.freeze({
    publicKey,
    async sign(message: Uint8Array): Promise<Uint8Array> {
      using signer = await readKeyFile(path);
      if (signer.publicKey !== publicKey) {
        throw refusal(path, "the key file holds another key than before", {
          code: Code.FailedPrecondition,
          advice: `Put the key of ${publicKey} back, or make a signer of the new one.`,
        });
      }
      return signer.sign(message);
    },
  });
}

/** Read a key file as bytes, because a string cannot be wiped. */
async function readKeyFile(path: string): Promise<SeedSigner> {
  const text = Buffer.alloc(FILE_BYTES + 2);
  const seed = secretBytes(SEED_BYTES);
  try {
    // Without O_NONBLOCK, the opening of a pipe waits for a writer, and no signal ends that wait.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    await requirePrivate(path, await file.stat());
    const { bytesRead } = await file.read(text, 0, text.length, 0);
    if (!parseSeed(text.subarray(0, bytesRead), seed)) {
      throw refusal(path, "it is no key file", {
        code: Code.InvalidArgument,
        advice: "A key file holds 64 hex digits, a seed, and nothing else.",
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
  ENOENT: "Check the path. `tradewire keys new FILE` makes a key, in a folder that exists.",
  EEXIST: "Choose another name: a key is never replaced.",
};

/** Refuse what is no file, and a file that others may read, write or replace. */
async function requirePrivate(path: string, stats: Stats): Promise<void> {
  if (!stats.isFile()) {
    throw refusal(path, "it is a folder, a pipe or a device, not a file", {
      code: Code.InvalidArgument,
      advice: "A key file is read for each signature. Save the key in a file of mode 600, or set TRADEWIRE_SEED to it.",
    });
  }
  const user = process.geteuid?.();
  if (user === undefined) {
    return; // Windows has neither owners nor permission bits.
  }
  if (stats.uid !== user) {
    throw refusal(path, `its owner is another user (${stats.uid})`, {
      code: Code.PermissionDenied,
      advice: "Who owns a key file can read and change it: use one of your own.",
    });
  }
  if ((stats.mode & OF_OTHERS) !== 0) {
    throw refusal(path, `others than its owner may use the key file (${octal(stats.mode)})`, {
      code: Code.PermissionDenied,
      advice: "Take the key for known to others, or close the file: chmod 600.",
    });
  }
  for (const folder of new Set([dirname(resolve(path)), dirname(await realpath(path))])) {
    await requirePrivateFolder(path, folder);
  }
}

/** Refuse a key file in a folder where all may put another file in its place. */
async function requirePrivateFolder(path: string, folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if (process.geteuid !== undefined && (mode & ALL_WRITE) !== 0 && (mode & STICKY) === 0) {
    throw refusal(path, `all may write to its folder (${octal(mode)})`, {
      code: Code.PermissionDenied,
      advice: "Put the key where nobody else can replace it, or close the folder: chmod o-w.",
    });
  }
}

function refusal(path: string, what: string, options: { readonly code: Code; readonly advice: string }): FileError {
  return new FileError(`${quotedPath(path)}: ${what}`, options);
}

/** Read 64 hex digits, which one line end may follow, into `seed`. No string holds more than one of the digits. */
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

/** The character code of a number's hex digit. */
function digit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value;
}

/** The value of a hex digit of either case, given as a character code; `NaN` where it is none. */
function digitValue(code = 0): number {
  return Number.parseInt(String.fromCharCode(code), 16);
}

function octal(mode: number): string {
  return `mode ${(mode & 0o777).toString(8)}`;
}
