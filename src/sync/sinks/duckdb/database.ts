import { link, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { fileError, quotedPath } from "../../../errors/file-error.js";
import { CanceledError, SinkError } from "../../../errors/index.js";
import { isError } from "../../../errors/is-error.js";
import { sweepTemporary, temporaryName } from "../../../file/temporary.js";
import type { BlockRange } from "../../../history/segments.js";
import { follow } from "../../../signal/follow.js";
import type { Unit } from "../../unit.js";
import { literal } from "./csv-sql.js";
import { inDuckdb } from "./errors.js";
import { createGate, type Gate } from "./gate.js";
import { loadDuckdb } from "./package.js";

/**
 * How many bytes of CSV are loaded before what is in the log of changes is written to the tables. DuckDB's own 16 MiB are
 * less than a unit may have, so that it would compress the end of the table anew with each.
 */
const CHECKPOINT_BYTES = 256 * 1024 * 1024;

/** A database that sinks of this process have open, shared by all of one path. */
interface Shared {
  readonly instance: DuckDBInstance;
  users: number;
  /** Units that are being loaded, by table. */
  readonly held: Map<string, Set<BlockRange>>;
  readonly gate: Gate;
  /** Bytes of CSV that were loaded since the last checkpoint. */
  unsaved: number;
}

/** An open database. */
export interface Database {
  /** Folder of the file, for temporary files. */
  readonly folder: string;
  /**
   * Hold a unit, so that no other sink loads it or a part of it.
   *
   * @returns gives it back; `undefined` where it is held already
   */
  hold(unit: Unit): (() => void) | undefined;
  /**
   * Read, on a connection of its own.
   *
   * @param what is done, for errors
   * @param read reads
   * @param signal interrupts the reading
   */
  read<T>(what: string, read: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Write, on a connection of its own and in a transaction, while nobody else does. */
  write<T>(what: string, write: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Append `bytes` of CSV to tables, on a connection of its own and in a transaction, while others may do so, too. */
  append<T>(
    what: string,
    bytes: bigint,
    append: (connection: DuckDBConnection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
  close(): Promise<void>;
}

const open = new Map<string, Promise<Shared>>();

/**
 * Open a DuckDB file. Sinks of one process share it; another process that has it open is an error.
 *
 * @param path of the file
 * @param name of the sink, for errors
 * @param settings `make`: whether the file is made where it is missing, and written at all; `memoryLimit`: as DuckDB
 *   takes it
 * @returns the database; `undefined` where there is no file and none is made
 * @throws {@link SinkError} where it cannot be opened
 */
export async function openDatabase(
  path: string,
  name: string,
  { make, memoryLimit }: { readonly make: boolean; readonly memoryLimit: string },
): Promise<Database | undefined> {
  const { DuckDBInstance } = await loadDuckdb();
  const folder = await folderOf(path);
  const file = join(folder, basename(path));
  const found = await stat(file).catch(() => undefined);
  if (found === undefined && !make) {
    return undefined;
  }
  if (make) {
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

  async function start(): Promise<Shared> {
    if (found === undefined) {
      await makeFile(DuckDBInstance, file);
    }
    // Without settings of its own, the instance is shared with whoever else takes it from the cache.
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
    return { instance, users: 0, held: new Map(), gate: createGate(), unsaved: 0 };
  }

  async function leave(shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users === 0) {
      open.delete(key);
      if (make) {
        // Else closing does it, and everything waits.
        await checkpoint(shared);
      }
      shared.instance.closeSync();
    }
  }
}

/** Write what is in the log of changes to the tables. Where a transaction is in the way, that is done later. */
async function checkpoint({ instance }: Shared): Promise<void> {
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
    throw new SinkError(`the folder of the database cannot be used: ${quotedPath(folder)}`, { code, advice, cause });
  }
}

/** Make an empty database: a process that is killed meanwhile leaves no file that DuckDB could not open. */
async function makeFile(Instance: typeof DuckDBInstance, file: string): Promise<void> {
  const temporary = join(dirname(file), await temporaryName());
  try {
    (await Instance.create(temporary)).closeSync();
    await link(temporary, file).catch((reason: unknown) => {
      const code = isError(reason) && "code" in reason ? reason.code : undefined;
      return code === "EEXIST" ? undefined : rename(temporary, file); // Some file systems have no links.
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

function using(shared: Shared, name: string): Omit<Database, "folder" | "close"> {
  async function read<T>(what: string, read: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal) {
    const canceled = () => signal?.aborted === true;
    if (canceled()) {
      throw new CanceledError({ cause: signal?.reason });
    }
    const connection = await inDuckdb(`${name}: ${what}`, shared.instance.connect());
    const stop = follow(signal, () => connection.interrupt());
    try {
      return await inDuckdb(`${name}: ${what}`, read(connection));
    } catch (reason) {
      throw canceled() ? new CanceledError({ cause: reason }) : reason;
    } finally {
      stop();
      connection.closeSync(); // It rolls back what is open.
    }
  }
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
    hold(unit) {
      const held = shared.held.get(unit.table) ?? new Set();
      shared.held.set(unit.table, held);
      if ([...held].some(({ fromBlock, toBlock }) => fromBlock <= unit.toBlock && unit.fromBlock <= toBlock)) {
        return undefined;
      }
      held.add(unit);
      return () => held.delete(unit);
    },
    read,
    write: (what, write, signal) => shared.gate.alone(() => inTransaction(what, write, signal)),
    async append(what, bytes, append, signal) {
      const result = await shared.gate.share(() => inTransaction(what, append, signal));
      shared.unsaved += Number(bytes);
      if (shared.unsaved >= CHECKPOINT_BYTES) {
        shared.unsaved = 0;
        // DuckDB makes one by itself only where nobody else writes, which may never be.
        await shared.gate.alone(() => checkpoint(shared));
      }
      return result;
    },
  };
}

/**
 * Say that a sink was not opened.
 *
 * @param name of the sink
 * @returns the error
 */
export function notOpen(name: string): SinkError {
  return new SinkError(`${name} is not open`, {
    code: Code.FailedPrecondition,
    advice: "Call open, once, before the sink is used, and nothing after it was closed.",
  });
}
