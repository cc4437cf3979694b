import { link, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { failedWith } from "../../../errors/file-error.js";
import { temporaryName } from "../../../file/temporary.js";
import { onPath } from "./layout.js";

/**
 * Write a file that other processes see whole or not at all, also after a crash of the machine.
 *
 * @param path of the file
 * @param text its content
 * @param how `create` fails where there is one, `replace` takes its place
 * @returns whether it was written
 */
export async function writeWhole(path: string, text: string, how: "create" | "replace"): Promise<boolean> {
  const temporary = join(dirname(path), await temporaryName());
  return await onPath(path, write());

  async function write(): Promise<boolean> {
    try {
      const file = await open(temporary, "wx");
      await file
        .writeFile(text)
        .then(() => file.sync())
        .finally(() => file.close());
      await (how === "replace" ? rename(temporary, path) : link(temporary, path));
      await syncFolder(dirname(path));
      return true;
    } catch (reason) {
      if (how === "create" && failedWith(reason, "EEXIST")) {
        return false;
      }
      throw reason;
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined); // It is swept.
    }
  }
}

/**
 * Append lines to a file in one write, and sync it to disk. Where a process was killed, or the disk was full, in the
 * middle of a line, that line is ended first.
 *
 * @param path of the file, which is made where it is missing
 * @param lines the lines, without their ends
 */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  await onPath(path, append());

  async function append(): Promise<void> {
    const file = await open(path, "a+");
    try {
      const { size } = await file.stat();
      const last = Buffer.alloc(1);
      if (size > 0) {
        await file.read(last, 0, 1, size - 1);
      }
      const torn = size > 0 && last.toString() !== "\n";
      await file.writeFile(`${torn ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`);
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(dirname(path));
  }
}

/**
 * Write a file to disk.
 *
 * @param path of the file
 */
export async function syncFile(path: string): Promise<void> {
  const file = await onPath(path, open(path, "r+"));
  await onPath(path, file.sync()).finally(() => file.close());
}

/**
 * Write a folder to disk, so that the names in it survive a crash of the machine.
 *
 * @param folder its path
 */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows cannot open folders.
  }
}
