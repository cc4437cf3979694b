import type { TableFacts } from "./facts.js";

export const balances = {
  key: ["vega_time", "account_id", "balance"],
  columns: {
    account_id: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    tx_hash: { type: "bytea" },
    balance: { type: "hugeint" },
  },
} as const satisfies TableFacts;

export const margin_levels = {
  key: ["vega_time", "account_id"],
  columns: {
    account_id: { type: "bytea" },
    timestamp: { type: "timestamptz" },
    maintenance_margin: { type: "hugeint", nullable: true },
    search_level: { type: "hugeint", nullable: true },
    initial_margin: { type: "hugeint", nullable: true },
    collateral_release_level: { type: "hugeint", nullable: true },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    margin_mode: { type: "margin_mode_type", since: 77 },
    margin_factor: { type: "numeric", since: 77 },
    order_margin: { type: "hugeint", since: 77 },
    order_margin_account_id: { type: "bytea", nullable: true, since: 77 },
  },
} as const satisfies TableFacts;

export const ledger = {
  key: ["ledger_entry_time"],
  columns: {
    ledger_entry_time: { type: "timestamptz" },
    account_from_id: { type: "bytea" },
    account_to_id: { type: "bytea" },
    quantity: { type: "hugeint" },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    transfer_time: { type: "timestamptz" },
    account_from_balance: { type: "hugeint" },
    account_to_balance: { type: "hugeint" },
    type: { type: "text", nullable: true },
    transfer_id: { type: "bytea", nullable: true, since: 69 },
  },
} as const satisfies TableFacts;

export const deposits = {
  key: ["id", "party_id", "vega_time"],
  columns: {
    id: { type: "bytea" },
    status: { type: "deposit_status" },
    party_id: { type: "bytea" },
    asset: { type: "bytea" },
    amount: { type: "hugeint", nullable: true },
    foreign_tx_hash: { type: "text" },
    credited_timestamp: { type: "timestamptz" },
    created_timestamp: { type: "timestamptz" },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
  },
} as const satisfies TableFacts;

export const withdrawals = {
  key: ["id", "party_id", "vega_time"],
  columns: {
    id: { type: "bytea" },
    party_id: { type: "bytea" },
    amount: { type: "numeric", nullable: true },
    asset: { type: "bytea" },
    status: { type: "withdrawal_status" },
    ref: { type: "text" },
    foreign_tx_hash: { type: "text" },
    created_timestamp: { type: "timestamptz" },
    withdrawn_timestamp: { type: "timestamptz" },
    ext: { type: "jsonb" },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
  },
} as const satisfies TableFacts;

export const rewards = {
  key: ["vega_time", "seq_num"],
  columns: {
    party_id: { type: "bytea" },
    asset_id: { type: "bytea" },
    market_id: { type: "bytea" },
    reward_type: { type: "text" },
    epoch_id: { type: "int8" },
    amount: { type: "hugeint", nullable: true },
    percent_of_total: { type: "float8", nullable: true },
    timestamp: { type: "timestamptz" },
    tx_hash: { type: "bytea" },
    vega_time: { type: "timestamptz" },
    seq_num: { type: "int8" },
    locked_until_epoch_id: { type: "int8", since: 51 },
    quantum_amount: { type: "hugeint", since: 73 },
    game_id: { type: "bytea", nullable: true, since: 74 },
  },
} as const satisfies TableFacts;
