/** A column of an export table. */
export interface Column {
  readonly name: string;
  /** The PostgreSQL type. */
  readonly type: string;
  /** The first version of the database schema that has the column. */
  readonly since: bigint;
  /**
   * An SQL expression. It may use `h` (height), `i` (index in the block) and `n` (number of the row, from 0), all
   * `bigint`.
   */
  readonly value: string;
}

/** An export table of the local node: its columns and the number of rows in each block. */
export interface TableDefinition {
  readonly rowsPerBlock: number;
  readonly columns: readonly Column[];
}

/**
 * Define a column.
 *
 * @param name the column's name
 * @param type the PostgreSQL type
 * @param value an SQL expression, as in {@link Column.value}
 * @param since the first version of the database schema that has the column; 1 by default
 * @returns the column
 */
export function column(name: string, type: string, value: string, since = 1n): Column {
  return { name, type, since, value };
}

/**
 * An SQL expression for an identifier or hash: the SHA-256 of a word and a number.
 *
 * @param kind the word, such as `order`
 * @param number an SQL expression for the number
 * @returns an SQL expression of type `bytea`, 32 bytes
 */
export function hash(kind: string, number: string): string {
  return `sha256(convert_to('${kind}:' || (${number}), 'UTF8'))`;
}

/**
 * An SQL expression for one of several identifiers, taken in turn.
 *
 * @param kind the word that the identifiers are hashes of
 * @param count how many different identifiers there are
 * @param number an SQL expression that chooses one; the row's number by default
 * @returns an SQL expression of type `bytea`, 32 bytes
 */
export function oneOf(kind: string, count: number, number = "n"): string {
  return hash(kind, `(${number}) % ${count}`);
}

/**
 * An SQL expression for one of several texts, taken in turn.
 *
 * @param values the texts; null for NULL
 * @param number an SQL expression that chooses one; the row's number by default
 * @returns an SQL expression of type `text`
 */
export function pick(values: readonly (string | null)[], number = "n"): string {
  const list = values.map((value) => (value === null ? "NULL" : `'${value.replaceAll("'", "''")}'`)).join(", ");
  return `(ARRAY[${list}]::text[])[1 + (${number}) % ${values.length}]`;
}

/**
 * An SQL expression for a scattered whole number that is the same on every start.
 *
 * @param low the smallest number
 * @param spread how many numbers there are from `low` on
 * @param seed an SQL expression that the number depends on; the row's number by default
 * @returns an SQL expression without parentheses around it
 */
export function between(low: number, spread: number, seed = "n"): string {
  return `${low} + ((${seed}) * 7919 + 104729) % ${spread}`;
}

/**
 * An SQL expression for a scattered amount with decimals.
 *
 * @param low the smallest amount, in units of the last decimal
 * @param spread how many amounts there are from `low` on
 * @param places the number of decimals
 * @param seed an SQL expression that the amount depends on; the row's number by default
 * @returns an SQL expression of type `numeric`
 */
export function decimal(low: number, spread: number, places: number, seed = "n"): string {
  return `round((${between(low, spread, seed)})::numeric / 1${"0".repeat(places)}, ${places})`;
}

/** The time of a block. The first block has a fixed time, so that nothing depends on the clock. */
export const blockTime =
  "(timestamptz '2023-10-19 08:00:00Z' + h * interval '1 second' + (h * 7919 % 1000000) * interval '1 microsecond')";

/**
 * An SQL expression for a time after a block.
 *
 * @param seconds the seconds since the block's time
 * @returns an SQL expression of type `timestamptz`
 */
export function later(seconds: number): string {
  return `(${blockTime} + interval '${seconds} seconds')`;
}

/** The transaction hash and the block's time, which most tables have. */
export const transaction: readonly Column[] = [
  column("tx_hash", "bytea", hash("tx", "n")),
  column("vega_time", "timestamptz", blockTime),
];

/** The position of an event in its block, from 1. */
export const sequence: Column = column("seq_num", "bigint", "i + 1");

/** A time that is different for every row: the block's time plus one microsecond for each event in the block. */
export const syntheticTime: Column = column(
  "synthetic_time",
  "timestamptz",
  `${blockTime} + (i + 1) * interval '1 microsecond'`,
);

/**
 * An SQL expression for text as users type it. The texts exercise every rule of the CSV format (specification, 4.1):
 * delimiters, quotes, all kinds of line breaks, NULL and the empty text, spaces at the ends, PostgreSQL's own markers,
 * and other scripts.
 *
 * @param shift moves the sequence of texts, so that columns of one table differ
 * @returns an SQL expression of type `text`
 */
export function freeText(shift = 0): string {
  return pick(texts, `n + ${shift}`);
}

const texts: readonly (string | null)[] = [
  "hedge",
  "buy low, sell high",
  'the "safe" side',
  "first line\nsecond line",
  null,
  "",
  "first line\r\nsecond line",
  "first line\rsecond line",
  "\\.",
  "  two spaces at both ends  ",
  "Größe – déjà vu, señor",
  "注文番号、第一",
  "🚀 to the moon 🦊",
  "طلب شراء رقم",
  'all at once: ",\r\n"',
  "NULL",
  "\\N\ttab",
  '"',
];
