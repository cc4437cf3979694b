import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError } from "../../base/errors/index.js";
import type { ArchiveFile } from "../archive/archive-files.js";
import type { ExportName } from "../archive/export-names.js";
import { checkColumns } from "../archive/typed-rows.js";
import type { TableName } from "../schema/table-names.js";
import { nameText } from "../zip/zip-format.js";
import type { BlockRange } from "./segments.js";

/** The expected file of an export: a table of segments with one schema version. */
export interface ExpectedFile extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  readonly schemaVersion: bigint;
}

/** Advice for an invalid answer, which is the node's error. */
const OF_THE_NODE = "Use another node, and report this to the operator of the node.";

/** Advice while only the header row was read. */
const NOTHING_TAKEN = `Its rows were not used. ${OF_THE_NODE}`;

/**
 * Checks that a file is the requested one, by its name as {@link checkFileName} does, and by its columns: the header row
 * must contain all columns of the schema version.
 *
 * @throws {@link ProtocolError} if it is another file; the error names both
 */
export function checkFile(file: ArchiveFile, expected: ExpectedFile): void {
  checkFileName(file, expected);
  const { name, columns } = file;
  checkColumns({ name, schemaVersion: expected.schemaVersion }, expected.table, columns, NOTHING_TAKEN);
}

/**
 * Checks that a file is the requested one. Its name must contain the chain, table and blocks, and the schema version if
 * any. A name of another form is refused, because it does not identify the chain.
 *
 * @throws {@link ProtocolError} if it is another file; the error names both
 */
export function checkFileName(
  { name, chainId, table, schemaVersion, fromBlock, toBlock }: Pick<ArchiveFile, "name"> & Partial<ExportName>,
  expected: ExpectedFile,
): void {
  if (chainId === undefined) {
    throw foreign(
      `the export of ${exportText(expected)} contains ${nameText(name)}, a name without the chain, table and blocks of the rows`,
    );
  }
  const but = (found: string, asked: string) =>
    foreign(`${nameText(name)} contains ${found}, but ${asked} was requested`);
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
      `${nameText(name)} has schema version ${schemaVersion}, but the segments ${expected.fromBlock} to ${expected.toBlock} are listed with version ${expected.schemaVersion}`,
    );
  }
}

/** Returns the error for an export without a file. */
export function noFile(expected: ExpectedFile): ProtocolError {
  return foreign(`the export of ${exportText(expected)} contains no files`);
}

export function secondFile(expected: ExpectedFile, { name }: Pick<ArchiveFile, "name">): ProtocolError {
  return foreign(`the export of ${exportText(expected)} contains a second file, ${nameText(name)}`, OF_THE_NODE);
}

function exportText({ table, fromBlock, toBlock }: ExpectedFile): string {
  return `${table}, blocks ${fromBlock} to ${toBlock},`;
}

function foreign(summary: string, advice = NOTHING_TAKEN): ProtocolError {
  return new ProtocolError(summary, { advice });
}
