import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import { makeFolder } from "../file/make-folder.js";
import type { MadeBlock } from "./local-network.js";

/** The blocks of a local node, kept in a file: what makes them again after a restart. */
export interface Journal extends Disposable {
  /** The blocks that the file held when it was opened. They are read once. */
  readonly blocks: Iterable<MadeBlock>;
  /** Keep a block. It is on its way to the disk when this returns. */
  add(block: MadeBlock): void;
  /** Where the first block begins. */
  readonly start: number;
  /** Where the file ends, to come back to. */
  position(): number;
  /** Forget all blocks that came behind a position. */
  truncate(position: number): void;
}

const FILE = "blocks.jsonl";
const LOCK = "lock";

/**
 * Open the journal in a folder, which is made where it does not exist. One process has it at a time.
 *
 * @param folder the folder's path
 * @param settings what the blocks depend on besides their transactions; those of a folder cannot change
 * @returns the journal; disposing of it lets others open the folder
 * @throws {@link RequestError} where the folder is that of a node with other settings, or a node that runs has it
 * @throws {@link FileError} where it cannot be read or written
 */
export function openJournal(folder: string, settings: Readonly<Record<string, unknown>>): Journal {
  const path = join(folder, FILE);
  const release = lock(folder);
  try {
    const header = `${JSON.stringify(settings)}\n`;
    const text = readOrBegin(path, header);
    // What a process that was killed wrote half is no block.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (!whole.startsWith(header)) {
      const found = whole.slice(0, whole.indexOf("\n"));
      throw new RequestError(`${folder} holds the blocks of a node with other settings: ${found.slice(0, 500)}`, {
        advice: "Start the node with those settings, or give another folder.",
      });
    }
    const file = openSync(path, "r+");
    let end = Buffer.byteLength(whole);
    ftruncateSync(file, end);
    let isOpen = true;
    const requireOpen = () => {
      if (!isOpen) {
        throw new RequestError("the node of the folder is closed", { advice: "Start it again to go on." });
      }
    };
    return {
      start: Buffer.byteLength(header),
      blocks: read(whole.slice(header.length), path),
      add({ height, time, transactions }) {
        requireOpen();
        const line = JSON.stringify({
          height: String(height),
          time: String(time),
          transactions: transactions.map((bytes) => Buffer.from(bytes).toString("base64")),
        });
        end += writeSync(file, `${line}\n`, end);
      },
      position: () => end,
      truncate(position) {
        requireOpen();
        end = position;
        ftruncateSync(file, end);
      },
      [Symbol.dispose]() {
        isOpen = false;
        closeSync(file);
        release();
      },
    };
  } catch (reason) {
    release();
    throw reason instanceof RequestError ? reason : fileError(reason, path);
  }
}

function readOrBegin(path: string, header: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (reason) {
    if (reason instanceof Error && "code" in reason && reason.code === "ENOENT") {
      writeFileSync(path, header, { mode: 0o600 });
      return header;
    }
    throw reason;
  }
}

function* read(lines: string, path: string): Generator<MadeBlock> {
  for (const [index, line] of lines.split("\n").slice(0, -1).entries()) {
    const block = parse(line);
    if (block === undefined) {
      throw new RequestError(`${path}: line ${index + 2} is no block`, {
        advice: "The file was changed by another program; give another folder.",
      });
    }
    yield block;
  }
}

function parse(line: string): MadeBlock | undefined {
  try {
    const { height, time, transactions } = JSON.parse(line) as Record<string, unknown>;
    if (typeof height !== "string" || typeof time !== "string" || !Array.isArray(transactions)) {
      return undefined;
    }
    return {
      height: BigInt(height),
      time: BigInt(time),
      transactions: transactions.map((text) => new Uint8Array(Buffer.from(String(text), "base64"))),
    };
  } catch {
    return undefined;
  }
}

/** Take a folder for this process. */
function lock(folder: string): () => void {
  const path = join(folder, LOCK);
  makeFolder(folder);
  try {
    for (;;) {
      try {
        writeFileSync(path, String(process.pid), { flag: "wx" });
        return () => rmSync(path, { force: true });
      } catch (reason) {
        if (!(reason instanceof Error && "code" in reason && reason.code === "EEXIST")) {
          throw reason;
        }
      }
      const owner = Number(readFileSync(path, "utf8"));
      if (owner === process.pid || isAlive(owner)) {
        throw new RequestError(`${folder} is in use by the node of process ${owner}`, {
          advice: `Stop that node, or give another folder. Remove ${path} if no node runs there.`,
        });
      }
      rmSync(path, { force: true }); // Its process was killed.
    }
  } catch (reason) {
    throw reason instanceof RequestError ? reason : fileError(reason, path);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
    return true;
  } catch (reason) {
    return reason instanceof Error && "code" in reason && reason.code === "EPERM";
  }
}
