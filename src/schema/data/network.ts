import type { TableFacts } from "./facts.js";

export const blocks = {
  key: ["vega_time"],
  columns: {
    vega_time: { type: "timestamptz" },
    height: { type: "int8" },
    hash: { type: "bytea" },
  },
} as const satisfies TableFacts;

export const checkpoints = {
  key: ["vega_time", "seq_num"],
  columns: {
    hash: { type: "text" },
    block_hash: { type: "text" },
    block_height: { type: "int8" },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    seq_num: { type: "int8" },
  },
} as const satisfies TableFacts;

export const delegations = {
  key: ["vega_time", "seq_num"],
  columns: {
    party_id: { type: "bytea" },
    node_id: { type: "bytea" },
    epoch_id: { type: "int8" },
    amount: { type: "hugeint", nullable: true },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    seq_num: { type: "int8" },
  },
} as const satisfies TableFacts;
