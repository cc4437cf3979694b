import { open } from "node:fs/promises";
import { dirname } from "node:path";
import * as z from "zod";
import { failedWith, fileError, quotedPath, readingAdvice } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { saveWhole } from "../../file/save-whole.js";

/** The most bytes of a manifest: that of a thousand parts has less. */
const MAX_BYTES = 1024 * 1024;

const block = z.string().regex(/^\d{1,19}$/);
const size = z.number().int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const manifestJson = z.object({
  /** Of the form of the manifest and of the cuts. */
  version: z.literal(1),
  chainId: z.string(),
  table: z.string(),
  fromBlock: block,
  toBlock: block,
  parts: z.array(
    z.object({
      fromBlock: block,
      toBlock: block,
      segmentId: z.string(),
      previousSegmentId: z.string(),
      bytes: size,
      sha256,
    }),
  ),
  /** The whole archive, once it was about to take its name. */
  saved: z.object({ path: z.string(), bytes: size, sha256 }).optional(),
});

/** What a folder says of the parts in it. It is believed only where the bytes of a part have the checksum. */
export type PartManifest = z.output<typeof manifestJson>;
/** What it says of one part. */
export type PartEntry = PartManifest["parts"][number];

/**
 * Read a manifest.
 *
 * @param path of the file
 * @returns what it says; `undefined` where there is none
 * @throws {@link RequestError} where it is none
 * @throws {@link FileError} where it cannot be read
 */
export async function readManifest(path: string): Promise<PartManifest | undefined> {
  const text = await readLimited(path);
  try {
    return text === undefined ? undefined : manifestJson.parse(JSON.parse(text));
  } catch (cause) {
    throw new RequestError(`${quotedPath(path)} does not say of what export the parts beside it are`, {
      advice: "Give another folder, or remove this file: all parts are then fetched again.",
      cause,
    });
  }
}

async function readLimited(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path);
    const { size: length } = await file.stat();
    return length > MAX_BYTES ? "" : await file.readFile("utf8");
  } catch (reason) {
    if (failedWith(reason, "ENOENT")) {
      return undefined;
    }
    throw fileError(reason, path, readingAdvice);
  }
}

/**
 * Write a manifest, in the place of one that is there: whole, or not at all.
 *
 * @param path of the file
 * @param manifest what it is to say
 * @throws {@link FileError} where it cannot be written
 */
export async function writeManifest(path: string, manifest: PartManifest): Promise<void> {
  const bytes = [Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`)];
  async function* content() {
    yield* bytes;
  }
  await saveWhole(
    content(),
    { target: path, fileName: () => dirname(path), force: true },
    {
      async passing(pieces) {
        for await (const _ of pieces) {
          // Only written.
        }
      },
      written: () => undefined,
    },
  );
}
