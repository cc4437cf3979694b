import type { TableName } from "../table-names.js";
import { balances, deposits, ledger, margin_levels, rewards, withdrawals } from "./accounts.js";
import { seqNum, type TableFacts, txHash, vegaTime } from "./facts.js";
import { liquidity_provisions, market_data, markets } from "./markets.js";
import { orders, positions, trades } from "./trading.js";

const blocks: TableFacts = {
  key: ["vega_time"],
  columns: {
    vega_time: vegaTime,
    height: { type: "int8", description: "Height of the block" },
    hash: { type: "bytea", description: "Hash of the block" },
  },
};

const checkpoints: TableFacts = {
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

const delegations: TableFacts = {
  key: ["vega_time", "seq_num"],
  columns: {
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that delegates" },
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

/** The properties of all export tables in all schema versions. */
export const facts: { readonly [name in TableName]: TableFacts } = {
  balances,
  checkpoints,
  delegations,
  ledger,
  orders,
  trades,
  market_data,
  margin_levels,
  positions,
  liquidity_provisions,
  markets,
  deposits,
  withdrawals,
  blocks,
  rewards,
};
