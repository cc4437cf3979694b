import { link, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { fileError, isError, quotedPath } from "../../../base/errors/node-errors.js";
import { sweepTemporary, temporaryName } from "../../../base/file/temporary-files.js";
import type { BlockRange } from "../../../data/history/segments.js";
import type { Unit } from "../../unit.js";
import { literal } from "./csv-columns.js";
import { inDuckdb, loadDuckdb, withConnection } from "./duckdb-package.js";

/**
 * How many bytes of CSV are loaded between two checkpoints. DuckDB's default of 16 MiB is less than a unit may have, so
 * that it would compress the end of the table again with each unit.
 */
const CHECKPOINT_BYTES = 256 * 1024 * 1024;

/** An open database of this process, shared by all sinks of one path. */
interface SharedInstance {
  readonly instance: DuckDBInstance;
  users: number;
  /** Units that are being loaded, by table. */
  readonly claims: Map<string, Set<BlockRange>>;
  readonly gate: WriteGate;
  /** Bytes of CSV that were loaded since the last checkpoint. */
  unsaved: number;
}

/** An open database. */
export interface DuckdbFile {
  /** The folder of the file, for temporary files. */
  readonly folder: string;
  /** Claims a unit, so that no other sink loads it or a part of it. */
  claim(unit: Unit): (() => void) | undefined;
  /** Reads on a separate connection. */
  read<T>(what: string, read: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Writes on a separate connection and in a transaction, while nobody else writes. */
  write<T>(what: string, write: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Appends `bytes` of CSV to tables, on a separate connection and in a transaction, while others may append too. */
  append<T>(
    what: string,
    bytes: bigint,
    append: (connection: DuckDBConnection) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
  close(): Promise<void>;
}

const open = new Map<string, Promise<SharedInstance>>();

/**
 * Opens a DuckDB file. Sinks of one process share it; if another process has it open, that is an error.
 *
 * @throws {@link SinkError} if it cannot be opened
 */
export async function openDuckdbFile(
  path: string,
  name: string,
  { make, memoryLimit }: { readonly make: boolean; readonly memoryLimit: string },
): Promise<DuckdbFile | undefined> {
  const { DuckDBInstance } = await loadDuckdb();
  const folder = await folderOf(path);
  const file = join(folder, basename(path));
  const found = await stat(file).catch(() => undefined);
  if (found === undefined && !make) {
    return undefined;
  }
  if (make) {
    assertUsable(folder);
    await sweepTemporary(folder);
  }
  const key = make || open.has(file) ? file : `${file} to be read`;
  const opening = open.get(key) ?? inDuckdb(name, start());
  open.set(key, opening);
  const shared = await opening.catch((reason: unknown) => {
    open.delete(key);
    throw reason;
  });
  shared.users += 1;
  return { folder, ...using(shared, name), close: () => leave(shared) };

  async function start(): Promise<SharedInstance> {
    if (found === undefined) {
      await createFile(DuckDBInstance, file);
    }
    // Without settings, the instance is shared with others that take it from the cache.
    const instance = make
      ? await DuckDBInstance.fromCache(file)
      : await DuckDBInstance.create(file, { access_mode: "READ_ONLY" });
    const connection = await instance.connect();
    try {
      await connection.run(`SET GLOBAL memory_limit = ${literal(memoryLimit)}`);
      await connection.run(`SET GLOBAL checkpoint_threshold = '${CHECKPOINT_BYTES}B'`);
    } catch (reason) {
      instance.closeSync();
      throw reason;
    } finally {
      connection.closeSync();
    }
    return { instance, users: 0, claims: new Map(), gate: createWriteGate(), unsaved: 0 };
  }

  async function leave(shared: SharedInstance): Promise<void> {
    shared.users -= 1;
    if (shared.users === 0) {
      open.delete(key);
      if (make) {
        // Otherwise closing writes a checkpoint, which blocks the event loop.
        await checkpoint(shared);
      }
      shared.instance.closeSync();
    }
  }
}

/** Writes a checkpoint. If a transaction is in the way, that is done later. */
async function checkpoint({ instance }: SharedInstance): Promise<void> {
  const connection = await instance.connect();
  await connection.run("CHECKPOINT").catch(() => undefined);
  connection.closeSync();
}

async function folderOf(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  try {
    return await realpath(folder);
  } catch (cause) {
    const { code, advice } = fileError(cause, folder);
    throw new SinkError(`the folder of the database is unusable: ${quotedPath(folder)}`, { code, advice, cause });
  }
}

/** DuckDB takes what follows a question mark for parameters, and would write the log of the file into another folder. */
function assertUsable(folder: string): void {
  if (folder.includes("?")) {
    throw new SinkError(`DuckDB cannot write a file in a folder whose name contains "?": ${quotedPath(folder)}`, {
      code: Code.InvalidArgument,
      advice: "Rename the folder, choose another one, or use parquet:FOLDER, which works there. Nothing was changed.",
    });
  }
}

/** Creates an empty database under its final name: a killed process leaves no file that DuckDB cannot open. */
async function createFile(Instance: typeof DuckDBInstance, file: string): Promise<void> {
  const temporary = join(dirname(file), await temporaryName());
  try {
    (await Instance.create(temporary)).closeSync();
    await link(temporary, file).catch((reason: unknown) => {
      const code = isError(reason) && "code" in reason ? reason.code : undefined;
      return code === "EEXIST" ? undefined : rename(temporary, file); // Some file systems have no hard links.
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

function using(shared: SharedInstance, name: string): Omit<DuckdbFile, "folder" | "close"> {
  const read = <T>(what: string, use: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal) =>
    withConnection(shared.instance, `${name}: ${what}`, use, signal);
  const inTransaction = <T>(what: string, write: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal) =>
    read(
      what,
      async (connection) => {
        await connection.run("BEGIN TRANSACTION");
        const result = await write(connection);
        await connection.run("COMMIT");
        return result;
      },
      signal,
    );
  return {
    claim(unit) {
      const claims = shared.claims.get(unit.table) ?? new Set();
      shared.claims.set(unit.table, claims);
      if ([...claims].some(({ fromBlock, toBlock }) => fromBlock <= unit.toBlock && unit.fromBlock <= toBlock)) {
        return undefined;
      }
      claims.add(unit);
      return () => claims.delete(unit);
    },
    read,
    write: (what, write, signal) => shared.gate.alone(() => inTransaction(what, write, signal)),
    async append(what, bytes, append, signal) {
      const result = await shared.gate.share(() => inTransaction(what, append, signal));
      shared.unsaved += Number(bytes);
      if (shared.unsaved >= CHECKPOINT_BYTES) {
        shared.unsaved = 0;
        // DuckDB itself writes one only while nobody else writes, which may never happen.
        await shared.gate.alone(() => checkpoint(shared));
      }
      return result;
    },
  };
}

/** Creates the error of a sink that is not open. */
export function notOpenError(name: string): SinkError {
  return new SinkError(`${name} is not open`, {
    code: Code.FailedPrecondition,
    advice: "Call open() exactly once before use, and nothing after close().",
  });
}

/** Schedules writers of a database: several at a time, or one alone, in the order of their calls. */
export interface WriteGate {
  /** Runs work while others share the database, after exclusive work has ended. */
  share<T>(work: () => Promise<T>): Promise<T>;
  /** Runs work exclusively, after all other work has ended. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export function createWriteGate(): WriteGate {
  let last: Promise<unknown> = Promise.resolve();
  let sharing = new Set<Promise<unknown>>();
  return {
    share(work) {
      const working = last.then(work);
      const ended = working.catch(() => undefined);
      const beside = sharing.add(ended);
      void ended.then(() => beside.delete(ended));
      return working;
    },
    alone(work) {
      const working = Promise.all([last, ...sharing]).then(work);
      last = working.catch(() => undefined);
      sharing = new Set();
      return working;
    },
  };
}
