import { seqNum, txHash, vegaTime } from "./common-columns.js";
import type { TableFacts } from "./facts.js";

export const blocks: TableFacts = {
  key: ["vega_time"],
  columns: {
    vega_time: vegaTime,
    height: { type: "int8", description: "Height of the block" },
    hash: { type: "bytea", description: "Hash of the block" },
  },
};

export const checkpoints: TableFacts = {
  key: ["vega_time", "seq_num"],
  columns: {
    hash: { type: "text", description: "Hash of the checkpoint, in hex" },
    block_hash: { type: "text", description: "Hash of the block at which the checkpoint was taken, in hex" },
    block_height: { type: "int8", description: "Height of the block at which the checkpoint was taken" },
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
  },
};

export const delegations: TableFacts = {
  key: ["vega_time", "seq_num"],
  columns: {
    party_id: { type: "bytea", description: "Public key of the party that delegates" },
    node_id: { type: "bytea", description: "Identifier of the validator to which the party delegates" },
    epoch_id: { type: "int8", description: "Number of the epoch" },
    amount: {
      type: "hugeint",
      nullable: true,
      description: "Amount that is delegated to the validator in the epoch, in the staking asset's decimals",
    },
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
  },
};
