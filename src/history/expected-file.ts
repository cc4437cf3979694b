import { checkColumns } from "../archive/check-columns.js";
import type { ArchiveFile } from "../archive/files.js";
import type { ExportName } from "../archive/names.js";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { TableName } from "../schema/tables.js";
import { nameText } from "../zip/archive-error.js";
import type { BlockRange } from "./segments.js";

/** What the one file of an export must be: a table of segments that have one schema version. */
export interface ExpectedFile extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  readonly schemaVersion: bigint;
}

/** What is wrong with a node's answer is the node's. */
const OF_THE_NODE = "Try another node, and tell who runs this one.";

/** So far, nothing but the header row was read. */
const NOTHING_TAKEN = `Nothing of it was taken. ${OF_THE_NODE}`;

/**
 * Check that a file is the one that was asked for, by its name as {@link checkFileName} does, and by its columns: all
 * those of the schema version must be in the header row.
 *
 * @param file the file, of which nothing has been read
 * @param expected what it must be
 * @throws {@link ProtocolError} where it is something else; it names both
 */
export function checkFile(file: ArchiveFile, expected: ExpectedFile): void {
  checkFileName(file, expected);
  const { name, columns } = file;
  checkColumns({ name, schemaVersion: expected.schemaVersion }, expected.table, columns, NOTHING_TAKEN);
}

/**
 * Check that a file is the one that was asked for. Its name must say that it is of the chain, table and blocks and, where
 * it has a schema version, of that version; a name of another form is refused, as nothing then says which chain the rows
 * are of.
 *
 * @param file its name, and what that says
 * @param expected what it must be
 * @throws {@link ProtocolError} where it is something else; it names both
 */
export function checkFileName(
  { name, chainId, table, schemaVersion, fromBlock, toBlock }: Pick<ArchiveFile, "name"> & Partial<ExportName>,
  expected: ExpectedFile,
): void {
  if (chainId === undefined) {
    throw foreign(
      `the export of ${exportText(expected)} holds ${nameText(name)}: such a name does not say of which chain, table and blocks the rows are`,
    );
  }
  const but = (found: string, asked: string) => foreign(`${nameText(name)} is of ${found}, but ${asked} was asked for`);
  if (chainId !== expected.chainId) {
    throw but(`the chain ${quoted(chainId)}`, quoted(expected.chainId));
  }
  if (table !== expected.table) {
    throw but(`the table ${table}`, expected.table);
  }
  if (fromBlock !== expected.fromBlock || toBlock !== expected.toBlock) {
    throw but(`the blocks ${fromBlock} to ${toBlock}`, `${expected.fromBlock} to ${expected.toBlock}`);
  }
  if (schemaVersion !== undefined && schemaVersion !== expected.schemaVersion) {
    throw foreign(
      `${nameText(name)} is of version ${schemaVersion} of the database schema, but the segments ${expected.fromBlock} to ${expected.toBlock} are listed with version ${expected.schemaVersion}`,
    );
  }
}

/**
 * Make the error of an export without a file.
 *
 * @param expected what was asked for
 * @returns the error
 */
export function noFile(expected: ExpectedFile): ProtocolError {
  return foreign(`the export of ${exportText(expected)} holds no file`);
}

/**
 * Make the error of an export with more than one file.
 *
 * @param expected what was asked for
 * @param file the second file
 * @returns the error
 */
export function secondFile(expected: ExpectedFile, { name }: Pick<ArchiveFile, "name">): ProtocolError {
  return foreign(`the export of ${exportText(expected)} holds a second file, ${nameText(name)}`, OF_THE_NODE);
}

function exportText({ table, fromBlock, toBlock }: ExpectedFile): string {
  return `${table}, blocks ${fromBlock} to ${toBlock},`;
}

function foreign(summary: string, advice = NOTHING_TAKEN): ProtocolError {
  return new ProtocolError(summary, { advice });
}
