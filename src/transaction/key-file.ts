import { randomFillSync } from "node:crypto";
import { open } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { fileError } from "../errors/file-error.js";
import { FileError } from "../errors/index.js";
import { SEED_BYTES, type SeedSigner, type Signer, secretBytes, signerFromSeed } from "./signer.js";

/** 64 hex digits and a line end. */
const FILE_BYTES = 2 * SEED_BYTES + 1;

/** The permission bits of everyone but the owner. */
const OF_OTHERS = 0o077;

/**
 * Make a key: write a new random seed to a file that only its owner may read (mode 600). An existing file is left
 * alone.
 *
 * @param path of the file; its folder must exist
 * @returns the public key, 64 hex digits in lower case
 * @throws {@link FileError} where the file exists, or cannot be written
 *
 * @example
 * const { publicKey } = await createKeyFile("trading.key");
 */
export async function createKeyFile(path: string): Promise<{ readonly publicKey: string }> {
  const seed = randomFillSync(secretBytes(SEED_BYTES));
  const text = Buffer.alloc(FILE_BYTES, "\n");
  seed.forEach((byte, index) => {
    text[2 * index] = digit(byte >> 4);
    text[2 * index + 1] = digit(byte & 15);
  });
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
    using signer = signerFromSeed(seed);
    return { publicKey: signer.publicKey };
  } catch (reason) {
    throw fileError(reason, path);
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
 * @throws {@link FileError} where the file cannot be read, others may use it, or it holds no seed
 *
 * @example
 * const signer = await signerFromKeyFile("trading.key");
 * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
 */
export async function signerFromKeyFile(path: string): Promise<Signer> {
  using first = await readKeyFile(path);
  const { publicKey } = first;
  return Object.freeze({
    publicKey,
    async sign(message: Uint8Array): Promise<Uint8Array> {
      using signer = await readKeyFile(path);
      if (signer.publicKey !== publicKey) {
        throw new FileError(`${JSON.stringify(path)}: the key file holds another key than before`, {
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
    await using file = await open(path, "r");
    const { mode } = await file.stat();
    if (process.platform !== "win32" && (mode & OF_OTHERS) !== 0) {
      throw new FileError(`${JSON.stringify(path)}: others than its owner may use the key file (${octal(mode)})`, {
        code: Code.PermissionDenied,
        advice: "Take the key for known to others, or close the file: chmod 600.",
      });
    }
    const { bytesRead } = await file.read(text, 0, text.length, 0);
    if (!parseSeed(text.subarray(0, bytesRead), seed)) {
      throw new FileError(`${JSON.stringify(path)}: it is no key file`, {
        code: Code.InvalidArgument,
        advice: "A key file holds 64 hex digits, a seed, and nothing else.",
      });
    }
    return signerFromSeed(seed);
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, path);
  } finally {
    text.fill(0);
    seed.fill(0);
  }
}

/** Read 64 hex digits, which one line end may follow, into `seed`. No string holds more than one of the digits. */
function parseSeed(text: Uint8Array, seed: Uint8Array): boolean {
  if (!/^(\r?\n)?$/.test(Buffer.from(text.subarray(2 * SEED_BYTES)).toString("latin1"))) {
    return false;
  }
  for (const index of seed.keys()) {
    const high = digitValue(text[2 * index]);
    const low = digitValue(text[2 * index + 1]);
    if (high === undefined || low === undefined) {
      return false;
    }
    seed[index] = 16 * high + low;
  }
  return true;
}

/** The character code of a number's hex digit. */
function digit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value;
}

/** The value of a hex digit of either case, given as a character code. */
function digitValue(code: number | undefined): number | undefined {
  const value = code === undefined ? Number.NaN : Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? undefined : value;
}

function octal(mode: number): string {
  return `mode ${(mode & 0o777).toString(8)}`;
}
