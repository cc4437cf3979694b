import type { ColumnFacts } from "./facts.js";

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
