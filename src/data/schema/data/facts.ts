import type { enums, WireEnum } from "./enums.js";

/** The types of columns that are PostgreSQL's own, and `hugeint`, a domain: `numeric(1000,0)`. */
export type ScalarType =
  | "int2"
  | "int4"
  | "int8"
  | "hugeint"
  | "numeric"
  | "numeric(1000,16)"
  | "float8"
  | "bool"
  | "text"
  | "bytea"
  | "timestamptz"
  | "jsonb";

/** The name of an enum type of the tables. */
export type EnumType = keyof typeof enums;

/** Whose decimals a number has: the market's for prices or sizes, an asset's, or those of the market's settlement asset. */
export type NumberUnit = "price" | "size" | "asset" | "settlement asset";

/** What rows belong to. */
export type RowOwner = "market" | "party";

/** The properties of a column. A column name has the same type in all versions. */
export interface ColumnFacts {
  readonly type: ScalarType | EnumType;
  /** The meaning of the values and their unit: a noun phrase, without their format, which the type determines. */
  readonly description: string;
  /** The enum of the API that the numbers represent. */
  readonly code?: WireEnum;
  /** Whose decimals the number has, if it is an integer that represents a decimal number. */
  readonly unit?: NumberUnit;
  /** Whose row it is: that of the market or the party that the identifier names. */
  readonly owner?: RowOwner;
  /**
   * Whether anyone can set the number to up to 2^256 - 1, which has 78 digits: the network records it as it was sent, even if it rejects
   * the order, the commitment or the market. Other whole numbers come from balances, from trades, which are paid for, or from sums of
   * 64-bit sizes.
   */
  readonly anySize?: true;
  /** Whether the column may be NULL. */
  readonly nullable?: true;
  /** The first schema version that has the column; 1 by default. */
  readonly since?: number;
  /** The last schema version that has the column; the newest by default. */
  readonly until?: number;
  /** The name that the column had before `since`. */
  readonly was?: string;
}

/** The properties of a table: its primary key, and all columns of all versions, in order. */
export interface TableFacts {
  readonly key: readonly string[];
  readonly columns: { readonly [name: string]: ColumnFacts };
}

export const txHash: ColumnFacts = {
  type: "bytea",
  description:
    "Hash of the transaction that caused the row; empty if the network wrote it at the start or end of a block",
};

export const vegaTime: ColumnFacts = { type: "timestamptz", description: "Time of the block" };

export const seqNum: ColumnFacts = { type: "int8", description: "Position of the event in its block" };

export const syntheticTime: ColumnFacts = {
  type: "timestamptz",
  description: "Time of the block plus one microsecond for each position of the event in it, unique for each row",
};
