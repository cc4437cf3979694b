/** A column of an export table. */
export interface Column {
  readonly name: string;
  /** The PostgreSQL type. */
  readonly type: string;
  /** The first version of the database schema that has the column. */
  readonly since: bigint;
  /** An SQL expression over `h` (height), `i` (index in the block) and `n` (number of the row, from 0), all `bigint`. */
  readonly value: string;
}

/** An export table of the local node: its columns, and how many rows each block has. */
export interface TableDefinition {
  readonly rowsPerBlock: number;
  readonly columns: readonly Column[];
}

/** A column of the first schema version. */
export function column(name: string, type: string, value: string, since = 1n): Column {
  return { name, type, since, value };
}

/** An identifier or hash of 32 bytes: the SHA-256 of a word and a number. */
export function hash(kind: string, number: string): string {
  return `sha256(convert_to('${kind}:' || (${number}), 'UTF8'))`;
}

/** One of `count` identifiers, taken in turn. */
export function oneOf(kind: string, count: number, number = "n"): string {
  return hash(kind, `(${number}) % ${count}`);
}

/** One of some texts, or NULL, taken in turn. */
export function pick(values: readonly (string | null)[], number = "n"): string {
  const list = values.map((value) => (value === null ? "NULL" : `'${value.replaceAll("'", "''")}'`)).join(", ");
  return `(ARRAY[${list}]::text[])[1 + (${number}) % ${values.length}]`;
}

/** A number from `low` on, below `low + spread`: it jumps about, and is the same on every start. */
export function between(low: number, spread: number, seed = "n"): string {
  return `${low} + ((${seed}) * 7919 + 104729) % ${spread}`;
}

/** An amount with decimals. */
export function decimal(low: number, spread: number, places: number, seed = "n"): string {
  return `round((${between(low, spread, seed)})::numeric / 1${"0".repeat(places)}, ${places})`;
}

/** The time of a block. The network started at a fixed time: nothing here follows the clock. */
export const blockTime =
  "(timestamptz '2023-10-19 08:00:00Z' + h * interval '1 second' + (h * 7919 % 1000000) * interval '1 microsecond')";

/** A time so many seconds after a block's. */
export function later(seconds: number): string {
  return `(${blockTime} + interval '${seconds} seconds')`;
}

/** The time of a block and its transaction, with which most tables begin or end. */
export const transaction: readonly Column[] = [
  column("tx_hash", "bytea", hash("tx", "n")),
  column("vega_time", "timestamptz", blockTime),
];

/** The place of an event in its block. */
export const sequence: Column = column("seq_num", "bigint", "i + 1");

/** A time that no two rows share: the block's, and a microsecond for each event in it. */
export const syntheticTime: Column = column(
  "synthetic_time",
  "timestamptz",
  `${blockTime} + (i + 1) * interval '1 microsecond'`,
);

/**
 * A text that somebody typed, and with it every rule of the CSV format (specification, 4.1): delimiters, quotes, all kinds of
 * line breaks, NULL and the empty text, spaces at the ends, PostgreSQL's own markers, and other scripts.
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
