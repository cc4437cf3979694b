import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import type { CsvRow } from "../csv/csv-format.js";
import type { RowOwner } from "../schema/data/facts.js";
import { type TableName, tableNames } from "../schema/table-names.js";
import { ownerColumns } from "../schema/table-schema.js";
import { TIME, timeText } from "../schema/time-text.js";
import { nameText } from "../zip/zip-format.js";
import type { ExportName } from "./export-names.js";

/** Which rows of network history to let through: those that fit everything that is given. NULL fits nothing. */
export interface RowFilter {
  /** Only rows of blocks from this time on, in Unix microseconds. */
  readonly from?: bigint | undefined;
  /** Only rows of blocks before this time, in Unix microseconds. */
  readonly before?: bigint | undefined;
  /** Only rows of one of these markets: identifiers in hex. */
  readonly markets?: readonly string[] | undefined;
  /** Only rows of one of these parties: public keys in hex, or `network`. */
  readonly parties?: readonly string[] | undefined;
}

/** Returns whether a row fits. */
export type RowTest = (row: Readonly<CsvRow>) => boolean;

/** The file that rows come from. */
interface FilteredFile {
  readonly name: string;
  readonly table?: TableName | undefined;
  readonly columns: readonly string[];
}

/** The column of all tables that has the time of the row's block. */
const BLOCK_TIME = "vega_time";

/** How tables write the party that the network itself is (v0.78.0, datanode/entities/id.go). */
const NETWORK_ID = "03";

/**
 * Creates the test of a filter for the rows of a file. Columns are found once; each row is compared as text.
 *
 * @throws {@link RequestError} if the table is unknown, or has no column for a part of the filter
 * @throws {@link ProtocolError} if the file lacks such a column; from the test, if a time is not one
 */
export function rowTest({ from, before, markets, parties }: RowFilter, file: FilteredFile): RowTest | undefined {
  const tests = [
    ...(from === undefined && before === undefined ? [] : [timeTest({ from, before }, file)]),
    ...(markets === undefined ? [] : [ownerTest("market", markets, file)]),
    ...(parties === undefined ? [] : [ownerTest("party", parties, file)]),
  ];
  return allOf(tests);
}

/** Returns the test whose rows fit all tests; `undefined` if there are none. */
export function allOf(tests: readonly (RowTest | undefined)[]): RowTest | undefined {
  const [first, ...others] = tests.filter((test) => test !== undefined);
  if (first === undefined || others.length === 0) {
    return first;
  }
  return (row) => first(row) && others.every((test) => test(row));
}

type BlockRange = Pick<ExportName, "fromBlock" | "toBlock">;

/** A file of an archive, whose name may state its blocks. */
interface BlockFile extends FilteredFile, Partial<BlockRange> {}

/**
 * Creates the test that leaves the rows of some blocks of a file, without a node that says when the blocks were made. A file lies
 * within the blocks, or outside, or has their heights.
 *
 * @throws {@link RequestError} if the file has other blocks too, and its rows have no heights, or its name states no blocks
 */
export function blockTest({ fromBlock, toBlock }: BlockRange, file: BlockFile): RowTest | undefined {
  const { name, table } = file;
  if (file.fromBlock === undefined || file.toBlock === undefined) {
    throw new RequestError(`the name ${nameText(name)} does not contain the blocks of its rows`, {
      advice: "Give the file the name that the node gave it, or select rows by time.",
    });
  }
  if (fromBlock <= file.fromBlock && file.toBlock <= toBlock) {
    return undefined;
  }
  if (file.toBlock < fromBlock || toBlock < file.fromBlock) {
    return () => false;
  }
  if (table !== "blocks") {
    throw new RequestError(
      `the rows of ${nameText(name)} do not name their blocks, so blocks ${fromBlock} to ${toBlock} cannot be selected`,
      {
        advice: (nameOf) =>
          `Select times with ${nameOf("since")} and ${nameOf("until")}, or export these blocks from a node, which says when they were made.`,
      },
    );
  }
  const index = indexOf("height", file);
  return (row) => {
    const text = row[index] ?? "";
    return /^\d{1,19}$/.test(text) && fromBlock <= BigInt(text) && BigInt(text) <= toBlock;
  };
}

function timeTest({ from, before }: Pick<RowFilter, "from" | "before">, file: FilteredFile): RowTest {
  const index = indexOf(BLOCK_TIME, file);
  const start = from === undefined ? "" : timeText(from);
  const end = before === undefined ? undefined : timeText(before);
  // The rows of a block follow each other in most tables.
  let known: string | undefined;
  let fits = false;
  return (row) => {
    const text = row[index] ?? null;
    if (text === null) {
      return false;
    }
    if (text !== known) {
      if (!TIME.test(text)) {
        throw new ProtocolError(`${nameText(file.name)}: ${BLOCK_TIME} ${quoted(text)} is not a time in UTC`, {
          advice: "Read the rows without blocks and times to get them unchanged.",
        });
      }
      known = text;
      fits = start <= text && (end === undefined || text < end);
    }
    return fits;
  };
}

function ownerTest(owner: RowOwner, ids: readonly string[], file: FilteredFile): RowTest {
  const { name, table } = file;
  if (table === undefined) {
    throw new RequestError(`the name ${nameText(name)} does not contain the table of its rows`, {
      advice: `Without the table, the column of the ${owner} is unknown. Give the file the name that the node gave it.`,
    });
  }
  assertOwned(table, owner);
  const wanted = new Set(ids.map((id) => `\\x${id === "network" ? NETWORK_ID : id.toLowerCase()}`));
  const [first = 0, ...others] = ownerColumns(table, owner).map((column) => indexOf(column, file));
  const isWanted = (text: string | null | undefined) => typeof text === "string" && wanted.has(text);
  return (row) => isWanted(row[first]) || others.some((index) => isWanted(row[index]));
}

/**
 * Checks that the rows of a table belong to markets or parties.
 *
 * @throws {@link RequestError} if they do not; it names the tables whose rows do
 */
export function assertOwned(table: TableName, owner: RowOwner): void {
  if (ownerColumns(table, owner).length === 0) {
    const owned = tableNames.filter((name) => ownerColumns(name, owner).length > 0);
    throw new RequestError(`does not apply to the table ${table}, whose rows name no ${owner}`, {
      option: owner,
      advice: `Tables whose rows name a ${owner}: ${owned.join(", ")}.`,
    });
  }
}

function indexOf(column: string, { name, columns }: FilteredFile): number {
  const index = columns.indexOf(column);
  if (index < 0) {
    throw new ProtocolError(`${nameText(name)} lacks the column ${column}, by which its rows are selected`, {
      advice: "Read the rows without selecting them to get all of them.",
    });
  }
  return index;
}
