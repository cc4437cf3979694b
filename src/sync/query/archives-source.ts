import { mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "../../base/errors/code.js";
import { FileError, ProtocolError, RequestError, SinkError } from "../../base/errors/index.js";
import { fileError, quotedPath } from "../../base/errors/node-errors.js";
import { sweepTemporary, temporaryName } from "../../base/file/temporary-files.js";
import { remembered } from "../../base/input/lazy.js";
import type { ArchiveFile } from "../../data/archive/archive-files.js";
import { openArchive } from "../../data/archive/open-archive.js";
import { checkColumns } from "../../data/archive/typed-rows.js";
import type { TableName } from "../../data/schema/table-names.js";
import { measured } from "../fetch-unit.js";
import type { Sink, UnitCsv } from "../sink.js";
import { duckdbSink } from "../sinks/duckdb/duckdb-sink.js";
import type { Measures, Unit } from "../unit.js";
import { isRequired, missingTable } from "./duckdb-content.js";
import { openLoaded } from "./duckdb-sources.js";
import type { QuerySource } from "./query-database.js";

/** An archive of the folder, with what its first file says. */
interface Archive {
  readonly path: string;
  readonly chainId: string;
  readonly table: TableName;
}

/**
 * Returns the source of a folder with archives of one chain. The archives of the tables that a statement reads are loaded into a
 * temporary DuckDB file, which statements of this source share.
 *
 * @throws {@link RequestError} from `open`, if archives overlap, or belong to several chains; {@link ProtocolError} if one is broken
 */
export function archivesSource(folder: string, memoryLimit: string): QuerySource {
  const name = `archives in ${folder}`;
  const loaded = new Set<TableName>();
  let temporary: string | undefined;

  const archives = remembered(() => listArchives(folder));
  async function databasePath(): Promise<string> {
    temporary ??= await createTemporary();
    return join(temporary, "archives.duckdb");
  }

  async function discard(): Promise<void> {
    const path = temporary;
    temporary = undefined;
    loaded.clear();
    if (path !== undefined) {
      await rm(path, { recursive: true, force: true }).catch(() => undefined); // The next query removes it.
    }
  }

  async function load(tables: readonly TableName[], signal: AbortSignal): Promise<void> {
    const found = await archives();
    for (const table of tables) {
      if (!found.some((archive) => archive.table === table) && isRequired(table, tables)) {
        throw missingTable(name, table, "Export it to the folder, or query a node or a synced database.");
      }
    }
    const chainId = found[0]?.chainId ?? "";
    const missing = tables.filter((table) => !loaded.has(table) && found.some((archive) => archive.table === table));
    await using sink = duckdbSink(await databasePath(), { views: "none", memoryLimit });
    await sink.open({ chainId, tables: missing, unknownColumns: "add", onUnknown: () => undefined, signal });
    for (const table of missing) {
      for (const archive of found.filter((each) => each.table === table)) {
        await inArchive(archive.path, loadArchive(archive, sink, signal));
      }
      loaded.add(table);
    }
  }

  return {
    open: (sql, signal) =>
      openLoaded(sql, { memoryLimit, signal }, async (tables, open) => {
        try {
          await load(tables, signal);
        } catch (reason) {
          await discard(); // It may have some of the archives of a table.
          throw reason;
        }
        return await open(await databasePath());
      }),
    [Symbol.asyncDispose]: discard,
  };
}

async function createTemporary(): Promise<string> {
  await sweepTemporary(tmpdir());
  const folder = join(tmpdir(), await temporaryName());
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

/** Lists the archives of a folder, each with the table and the chain that its first file is of. */
async function listArchives(folder: string): Promise<readonly Archive[]> {
  const names = await readdir(folder).catch((reason: unknown) => {
    throw fileError(reason, folder, { ENOENT: "Check the path." });
  });
  const found: Archive[] = [];
  for (const name of names.filter((each) => each.toLowerCase().endsWith(".zip")).sort()) {
    const path = join(folder, name);
    found.push(await inArchive(path, readFirst(path)));
  }
  const [first] = found;
  if (first === undefined) {
    throw new FileError(`${quotedPath(folder)} has no archives`, {
      code: Code.NotFound,
      advice: "Save some there: tradewire export --to FOLDER",
    });
  }
  const other = found.find(({ chainId }) => chainId !== first.chainId);
  if (other !== undefined) {
    throw new RequestError(
      `the archives are of several chains: ${quotedPath(first.path)} is of ${JSON.stringify(first.chainId)}, ${quotedPath(other.path)} of ${JSON.stringify(other.chainId)}`,
      { errorCode: "TW_CHAIN_MISMATCH", advice: "Use a folder for each chain." },
    );
  }
  return found;
}

async function readFirst(path: string): Promise<Archive> {
  for await (const { chainId, table } of openArchive(path).files()) {
    if (chainId !== undefined && table !== undefined) {
      return { path, chainId, table };
    }
    break;
  }
  throw new RequestError(`${quotedPath(path)} is not an archive of network history, by the names of its files`, {
    advice: "Move it to another folder.",
  });
}

/** Awaits an operation on an archive, and names the archive in errors of its content. */
async function inArchive<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (reason) {
    if (reason instanceof ProtocolError || (reason instanceof SinkError && reason.code === Code.DataLoss)) {
      const { headline, advice, notes, code, errorCode } = reason;
      throw new ProtocolError(`${quotedPath(path)}: ${headline}`, { code, advice, notes, errorCode, cause: reason });
    }
    throw reason;
  }
}

async function loadArchive({ path, table }: Archive, sink: Sink, signal: AbortSignal): Promise<void> {
  for await (const file of openArchive(path, { signal }).files()) {
    const unit = unitOf(file);
    if (unit === undefined || unit.table !== table) {
      throw new RequestError(`${quotedPath(path)} has a file of another table or of none: ${quotedPath(file.name)}`, {
        advice: "Move it to another folder.",
      });
    }
    checkColumns(file, table, file.columns, "Export it again.");
    const { outcome } = await sink.load(unit, async () => csvOf(file), { replace: false, signal });
    if (outcome !== "loaded") {
      throw new RequestError(
        `${quotedPath(path)} has blocks ${unit.fromBlock} to ${unit.toBlock} of ${table}, and another archive has some of these, too`,
        { advice: "Keep one archive of each block: move one of them to another folder." },
      );
    }
  }
}

/** Returns the unit of a CSV file, whose name stands for its segment. */
function unitOf({ name, chainId, table, fromBlock, toBlock, schemaVersion = 0n }: ArchiveFile): Unit | undefined {
  return chainId === undefined || table === undefined || fromBlock === undefined || toBlock === undefined
    ? undefined
    : { chainId, table, fromBlock, toBlock, segmentId: name, previousSegmentId: "", schemaVersion };
}

function csvOf(file: ArchiveFile): UnitCsv {
  let measures: Measures | undefined;
  async function* content() {
    measures = yield* measured(file);
  }
  return {
    columns: file.columns,
    content: content(),
    measures() {
      if (measures === undefined) {
        throw new RequestError(`the content of ${quotedPath(file.name)} was not read to its end`);
      }
      return measures;
    },
  };
}
