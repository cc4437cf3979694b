import { type FileHandle, open } from "node:fs/promises";
import { FileError } from "tradewire";
import { saveAtomically } from "./inside.js";

/** A small CSV file. */
export const csv = Buffer.from("a,b\n1,2\n");

type Where = Parameters<typeof saveAtomically>[1];
type Check = Parameters<typeof saveAtomically>[2];

/** Save a file whole, by default the CSV file, with a check that counts the bytes. */
export function saveInto(
  folder: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = [csv],
  given: Partial<Where & Check> = {},
) {
  async function* consume() {
    yield* pieces;
  }
  return saveAtomically(
    consume(),
    { target: folder, fileName: () => "a.csv", force: false, ...given },
    { consume: counted, verify: (_, count) => count, ...given },
  );
}

async function counted(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0;
  for await (const { length } of pieces) {
    count += length;
  }
  return count;
}

/**
 * Get the failure of what must fail on a file.
 *
 * @throws what else it failed with, or that it did not fail
 */
export async function fileFailure(saving: Promise<unknown>): Promise<FileError> {
  const reason = await saving.then(
    () => new Error("it was saved"),
    (reason: unknown) => reason,
  );
  if (!(reason instanceof FileError)) {
    throw reason;
  }
  return reason;
}

/** Get the methods of open files, to spy on. */
export async function fileMethods(path: string): Promise<FileHandle> {
  await using file = await open(path);
  return Object.getPrototypeOf(file);
}
