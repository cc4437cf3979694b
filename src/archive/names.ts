import { requireString } from "../errors/check-kinds.js";
import { requireObject, requireOneOf, requireText, wrong } from "../errors/check-values.js";
import { givenName } from "../file/given-name.js";
import { type Profile, profileRules, profiles } from "../schema/profile.js";
import { isTableName, type TableName, tableNames } from "../schema/tables.js";

/** The parts of the name of an archive or CSV file (specification, 4.1). */
export interface ExportName {
  /** Identifier of the chain. It may hold hyphens. */
  readonly chainId: string;
  readonly table: TableName;
  /**
   * Version of the database schema. By the specification a name has it only where the range crosses a schema change: a
   * CSV file then has the version of its own blocks, the archive that of its last block. Deployed nodes put it into the
   * name of every CSV file and of no archive.
   */
  readonly schemaVersion?: bigint | undefined;
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
}

/**
 * Make the name of an archive: `<chain>-<table>[-<version>]-<from>-<to>.zip` (specification, 4.1).
 *
 * @param name its parts
 * @param profile whose form it has; by the specification, the default, numbers are not padded. Deployed nodes write
 *   blocks with at least six digits, and no schema version
 * @returns the name
 * @throws {@link RequestError} where a part is missing, or is none of what it has to be
 *
 * @example
 * archiveName({ chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n }) // "chain-1-trades-1-1000.zip"
 */
export function archiveName(name: ExportName, profile: Profile = "specification"): string {
  requireOneOf("profile", profile, profiles);
  requireParts(name);
  const versioned = profileRules[profile].names.versioned === "crossing";
  return `${stem(versioned ? name : { ...name, schemaVersion: undefined }, profile)}.zip`;
}

/**
 * Make the name of a CSV file in an archive: `<chain>-<table>[-<version>]-<from>-<to>.csv` (specification, 4.1).
 *
 * @param name its parts
 * @param profile whose form it has; by the specification, the default, numbers are not padded. Deployed nodes write
 *   blocks with at least six digits, schema versions with three
 * @returns the name
 * @throws {@link RequestError} where a part is missing, or is none of what it has to be
 *
 * @example
 * csvName({ chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n }) // "chain-1-trades-1-1000.csv"
 */
export function csvName(name: ExportName, profile: Profile = "specification"): string {
  requireOneOf("profile", profile, profiles);
  requireParts(name);
  return `${stem(name, profile)}.csv`;
}

/**
 * Read the name of an archive (specification, 4.1). Numbers may be padded with zeros, as deployed nodes write them.
 *
 * @param name the file name, without a folder
 * @returns its parts; `undefined` where it has another form, or is no safe file name: it holds a path separator or a
 *   control character, or is longer than 255 bytes of UTF-8
 *
 * @example
 * parseArchiveName("chain-1-trades-1-1000.zip")?.toBlock // 1000n
 */
export function parseArchiveName(name: string): ExportName | undefined {
  requireString("the name", name);
  return parse(name, ".zip");
}

/**
 * Read the name of a CSV file in an archive (specification, 4.1), as {@link parseArchiveName} does.
 *
 * @param name the file name, without a folder
 * @returns its parts; `undefined` where it has another form, or is no safe file name
 *
 * @example
 * parseCsvName("chain-1-trades-014-000001-001000.csv")?.schemaVersion // 14n
 */
export function parseCsvName(name: string): ExportName | undefined {
  requireString("the name", name);
  return parse(name, ".csv");
}

/** Check what plain JavaScript may leave out: a part would be named `undefined`. */
function requireParts(name: ExportName): void {
  requireObject("the name", name);
  const { chainId, table, schemaVersion = 0n, fromBlock, toBlock } = name;
  requireText("chainId", chainId, "chain-1");
  if (!isTableName(table)) {
    throw wrong("table", table, `Choose one of ${tableNames.join(", ")}.`);
  }
  for (const [part, number] of Object.entries({ schemaVersion, fromBlock, toBlock })) {
    if (!(typeof number === "bigint" || Number.isSafeInteger(number)) || number < 0) {
      throw wrong(part, number, "Give a whole number, such as 1000n.");
    }
  }
}

function stem({ chainId, table, schemaVersion, fromBlock, toBlock }: ExportName, profile: Profile): string {
  const { versionDigits, blockDigits } = profileRules[profile].names;
  const padded = (number: bigint, digits: number) => String(number).padStart(digits, "0");
  const version = schemaVersion === undefined ? [] : [padded(schemaVersion, versionDigits)];
  return [chainId, table, ...version, padded(fromBlock, blockDigits), padded(toBlock, blockDigits)].join("-");
}

// A chain id may itself end in a table's name. The greedy match makes the rightmost one the table.
const pattern = new RegExp(`^(.+)-(${tableNames.join("|")})(?:-([0-9]+))?-([0-9]+)-([0-9]+)$`, "u");
// Separators, control characters, and halves of surrogate pairs, which UTF-8 cannot carry.
const unsafe = /[/\\\p{Cc}\p{Cs}]/u;
// In a name to save under: what hides it, is taken for an option, or hides or turns a part of it.
const unwise = /^[-.]|[\p{Cf}\p{Zl}\p{Zp}]/u;
const maxBytes = 255;
const maxInt64 = 2n ** 63n - 1n;

function parse(name: string, extension: string): ExportName | undefined {
  if (!name.endsWith(extension) || unsafe.test(name) || new TextEncoder().encode(name).length > maxBytes) {
    return undefined;
  }
  const [, chainId = "", table = "", version, from = "", to = ""] =
    pattern.exec(name.slice(0, -extension.length)) ?? [];
  if (!isTableName(table)) {
    return undefined;
  }
  const schemaVersion = version === undefined ? undefined : BigInt(version);
  const fromBlock = BigInt(from);
  const toBlock = BigInt(to);
  if (fromBlock > maxInt64 || toBlock > maxInt64 || (schemaVersion ?? 0n) > maxInt64) {
    return undefined;
  }
  return { chainId, table, schemaVersion, fromBlock, toBlock };
}

/** The table and blocks of an export, both ends inclusive. */
export interface ExportedRange {
  readonly table: TableName;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  /** Identifier of the chain, where it is known. */
  readonly chainId?: string | undefined;
}

/**
 * Choose the name under which an archive is saved. It is the node's, from `content-disposition`, where that is the name
 * of an archive of this table and range. Otherwise it is made of the table and range, with `network` in place of the
 * chain id.
 *
 * @param header the response header
 * @param exported the table and range
 * @param profile whose form the name has where it is made
 * @returns a safe file name
 */
export function fileNameFor(header: Headers, exported: ExportedRange, profile?: Profile): string {
  return fitting(header, exported)?.given ?? archiveName({ ...exported, chainId: "network" }, profile);
}

/**
 * Read the chain from the name that the node gives an archive, where that is of this table and range.
 *
 * @param header the response header
 * @param exported the table and range
 * @returns the identifier of the chain; `undefined` where the node does not name the archive so
 */
export function chainOf(header: Headers, exported: ExportedRange): string | undefined {
  return fitting(header, exported)?.name.chainId;
}

function fitting(header: Headers, { table, fromBlock, toBlock }: ExportedRange) {
  const given = givenName(header);
  const name = given === undefined ? undefined : parseArchiveName(given);
  const fits = name?.table === table && name.fromBlock === fromBlock && name.toBlock === toBlock;
  return given !== undefined && name !== undefined && fits && !unwise.test(given) ? { given, name } : undefined;
}
