import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { FileError, RequestError } from "../errors/index.js";
import { fileError, quotedPath, READ_ADVICE } from "../errors/node-errors.js";
import { refuseDevice } from "./device.js";

/**
 * Reads a file that a user named, and that must be neither empty nor too large.
 *
 * @throws {@link FileError} if the file cannot be read, or is a device
 * @throws {@link RequestError} if it is empty or larger than `maxBytes`
 */
export async function readBoundedFile(
  path: string,
  options: {
    readonly maxBytes: number;
    readonly kind: string;
    readonly advice: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Buffer> {
  const { maxBytes, kind, advice, signal } = options;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    refuseDevice(path, await stat(path));
    for await (const chunk of createReadStream(path, { signal })) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) {
        break;
      }
    }
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, path, READ_ADVICE);
  }
  if (size === 0 || size > maxBytes) {
    const what = size === 0 ? "is empty" : `exceeds the limit of ${maxBytes} bytes for ${kind}`;
    throw new RequestError(`${quotedPath(path)} ${what}`, { advice });
  }
  return Buffer.concat(chunks);
}
