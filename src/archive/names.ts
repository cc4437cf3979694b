import { parse as parseContentDisposition } from "content-disposition";
import { isTableName, type TableName, tableNames } from "../schema/tables.js";

/** What the name of an archive or CSV file says (specification, 4.1). */
export interface ExportName {
  /** Identifier of the chain. It may hold hyphens. */
  readonly chainId: string;
  readonly table: TableName;
  /**
   * Version of the database schema. A name made by the specification has it only where the range crosses a schema change:
   * a CSV file then has the version of its own blocks, the archive that of its last block. Deployed nodes give it to every
   * CSV file and to no archive.
   */
  readonly schemaVersion?: bigint | undefined;
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
}

/**
 * The name of an archive: `<chain>-<table>[-<version>]-<from>-<to>.zip`, numbers in plain decimals (specification, 4.1).
 *
 * @example archiveName({ chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n }) // "chain-1-trades-1-1000.zip"
 */
export function archiveName(name: ExportName): string {
  return `${stem(name)}.zip`;
}

/** The name of a CSV file in an archive: as {@link archiveName}, with the extension `.csv` (specification, 4.1). */
export function csvName(name: ExportName): string {
  return `${stem(name)}.csv`;
}

/**
 * Reads the name of an archive. Numbers may be padded with zeros, as deployed nodes write them.
 *
 * @returns `undefined` for what is no such name, or is no safe file name: one that holds a path separator or a control
 * character, or is longer than 255 bytes of UTF-8.
 */
export function parseArchiveName(name: string): ExportName | undefined {
  return parse(name, ".zip");
}

/** Reads the name of a CSV file in an archive, as {@link parseArchiveName} does. */
export function parseCsvName(name: string): ExportName | undefined {
  return parse(name, ".csv");
}

function stem({ chainId, table, schemaVersion, fromBlock, toBlock }: ExportName): string {
  return [chainId, table, ...(schemaVersion === undefined ? [] : [schemaVersion]), fromBlock, toBlock].join("-");
}

// The greedy chain makes the rightmost table name the table: a chain id may itself end in one.
const pattern = new RegExp(`^(.+)-(${tableNames.join("|")})(?:-([0-9]+))?-([0-9]+)-([0-9]+)$`, "u");
// Separators, control characters, and halves of surrogate pairs, which UTF-8 cannot carry.
const unsafe = /[/\\\p{Cc}\p{Cs}]/u;
const maxBytes = 255;
const maxInt64 = 2n ** 63n - 1n;

function parse(name: string, extension: string): ExportName | undefined {
  if (!name.endsWith(extension) || unsafe.test(name) || new TextEncoder().encode(name).length > maxBytes) {
    return undefined;
  }
  const [, chainId, table, version, from, to] = pattern.exec(name.slice(0, -extension.length)) ?? [];
  if (chainId === undefined || table === undefined || !isTableName(table) || from === undefined || to === undefined) {
    return undefined;
  }
  const schemaVersion = version === undefined ? undefined : BigInt(version);
  const fromBlock = BigInt(from);
  const toBlock = BigInt(to);
  if (fromBlock > maxInt64 || toBlock > maxInt64 || (schemaVersion ?? 0n) > maxInt64) {
    return undefined;
  }
  return { chainId, table, ...(schemaVersion === undefined ? {} : { schemaVersion }), fromBlock, toBlock };
}

/** What was exported. */
export interface ExportedRange {
  readonly table: TableName;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
}

/**
 * The name to save an archive under: the node's, from `content-disposition`, where that is the plain name of an archive of
 * this table and range; else one made of what was asked for, with `network` in the chain's place.
 */
export function fileNameFor(header: Headers, exported: ExportedRange): string {
  const given = givenName(header.get("content-disposition"));
  const name = given === undefined ? undefined : parseArchiveName(given);
  const fits =
    name?.table === exported.table && name.fromBlock === exported.fromBlock && name.toBlock === exported.toBlock;
  return given !== undefined && fits ? given : archiveName({ chainId: "network", ...exported });
}

function givenName(header: string | null): string | undefined {
  try {
    return header === null ? undefined : parseContentDisposition(header).parameters["filename"];
  } catch {
    return undefined; // Not a content-disposition at all.
  }
}
