import type { WireEnum } from "./codes.js";
import type { enums } from "./enums.js";

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

/** What is known about a column. A name keeps its type through all versions. */
export interface ColumnFacts {
  readonly type: ScalarType | EnumType;
  /** The enum of the wire that the numbers stand for. */
  readonly code?: WireEnum;
  /** Whether the column may be NULL. */
  readonly nullable?: true;
  /** The first schema version that has the column; 1 where it is not said. */
  readonly since?: number;
  /** The last schema version that has the column; the newest has it too where it is not said. */
  readonly until?: number;
  /** The name that the column had before `since`. */
  readonly was?: string;
}

/** What is known about a table: its primary key, and all columns that it ever had, in their order. */
export interface TableFacts {
  readonly key: readonly string[];
  readonly columns: { readonly [name: string]: ColumnFacts };
}
