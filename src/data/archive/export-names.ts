import { assertObject, assertOneOf, assertString, assertText, invalidValueError } from "../../base/input/assert.js";
import { withJson } from "../../base/json-result.js";
import { type Profile, profileRules, profiles } from "../../base/profile.js";
import { isTableName, type TableName, tableNames } from "../schema/table-names.js";

/** The parts of the name of an archive or CSV file. */
export interface ExportName {
  /** Chain identifier. It may contain hyphens. */
  readonly chainId: string;
  readonly table: TableName;
  /**
   * Version of the database schema. With the profile `specification`, a name contains it only if the range crosses a schema
   * change: a CSV file then has the version of its blocks, the archive that of its last block. Deployed nodes add it to
   * the name of every CSV file, and never to that of an archive.
   */
  readonly schemaVersion?: bigint | undefined;
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
}

/**
 * Returns the name of an archive: `<chain>-<table>[-<version>]-<from>-<to>.zip`.
 *
 * @param name its parts
 * @param profile the form of the name; `specification`, the default, does not pad numbers. Deployed nodes write blocks
 *   with at least six digits, and no schema version
 * @returns the name
 * @throws {@link RequestError} if a part is missing or invalid
 *
 * @example
 * archiveName({ chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n }) // "chain-1-trades-1-1000.zip"
 */
export function archiveName(name: ExportName, profile: Profile = "specification"): string {
  assertOneOf("profile", profile, profiles);
  validateParts(name);
  const versioned = profileRules[profile].names.versioned === "crossing";
  return `${baseName(versioned ? name : { ...name, schemaVersion: undefined }, profile)}.zip`;
}

/**
 * Returns the name of a CSV file in an archive: `<chain>-<table>[-<version>]-<from>-<to>.csv`.
 *
 * @param name its parts
 * @param profile the form of the name; `specification`, the default, does not pad numbers. Deployed nodes write blocks
 *   with at least six digits, and schema versions with three
 * @returns the name
 * @throws {@link RequestError} if a part is missing or invalid
 *
 * @example
 * csvName({ chainId: "chain-1", table: "trades", fromBlock: 1n, toBlock: 1000n }) // "chain-1-trades-1-1000.csv"
 */
export function csvName(name: ExportName, profile: Profile = "specification"): string {
  assertOneOf("profile", profile, profiles);
  validateParts(name);
  return `${baseName(name, profile)}.csv`;
}

/**
 * Parses the name of an archive. Numbers may be padded with zeros, as deployed nodes write them.
 *
 * @param name the file name, without a folder
 * @returns its parts; `undefined` if it has another form, or is not a safe file name: it contains a path separator or a
 *   control character, or is longer than 255 bytes in UTF-8
 *
 * @example
 * parseArchiveName("chain-1-trades-1-1000.zip")?.toBlock // 1000n
 */
export function parseArchiveName(name: string): ExportName | undefined {
  assertString("the name", name);
  return withJson(parse(name, ".zip"));
}

/**
 * Parses the name of a CSV file in an archive, as {@link parseArchiveName} does.
 *
 * @param name the file name, without a folder
 * @returns its parts; `undefined` if it has another form, or is not a safe file name
 *
 * @example
 * parseCsvName("chain-1-trades-014-000001-001000.csv")?.schemaVersion // 14n
 */
export function parseCsvName(name: string): ExportName | undefined {
  assertString("the name", name);
  return withJson(parse(name, ".csv"));
}

/** Validates the parts for callers without types, whose missing parts would become `undefined` in the name. */
function validateParts(name: ExportName): void {
  assertObject("the name", name);
  const { chainId, table, schemaVersion = 0n, fromBlock, toBlock } = name;
  assertText("chainId", chainId, "chain-1");
  if (!isTableName(table)) {
    throw invalidValueError("table", table, `one of ${tableNames.join(", ")}`);
  }
  for (const [part, number] of Object.entries({ schemaVersion, fromBlock, toBlock })) {
    if (!(typeof number === "bigint" || Number.isSafeInteger(number)) || number < 0) {
      throw invalidValueError(part, number, "a whole number of at least 0, such as 1000n");
    }
  }
}

function baseName({ chainId, table, schemaVersion, fromBlock, toBlock }: ExportName, profile: Profile): string {
  const { versionDigits, blockDigits } = profileRules[profile].names;
  const padded = (number: bigint, digits: number) => String(number).padStart(digits, "0");
  const version = schemaVersion === undefined ? [] : [padded(schemaVersion, versionDigits)];
  return [chainId, table, ...version, padded(fromBlock, blockDigits), padded(toBlock, blockDigits)].join("-");
}

// A chain id may itself end in a table's name. With the greedy match, the rightmost one is the table.
const pattern = new RegExp(`^(.+)-(${tableNames.join("|")})(?:-([0-9]+))?-([0-9]+)-([0-9]+)$`, "u");
// Separators, control characters, and lone surrogates, which UTF-8 cannot encode.
const unsafe = /[/\\\p{Cc}\p{Cs}]/u;
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

/** The table and blocks of an export, inclusive. */
export interface ExportedRange {
  readonly table: TableName;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  /** Chain identifier, if known. */
  readonly chainId?: string | undefined;
}
