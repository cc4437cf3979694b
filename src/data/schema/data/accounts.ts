import { seqNum, type TableFacts, txHash, vegaTime } from "./facts.js";

export const balances: TableFacts = {
  key: ["vega_time", "account_id", "balance"],
  columns: {
    account_id: { type: "bytea", description: "Identifier of the account" },
    vega_time: vegaTime,
    tx_hash: txHash,
    balance: {
      type: "hugeint",
      unit: "asset",
      description: "Balance of the account after the block, in the asset's decimals",
    },
  },
};

export const margin_levels: TableFacts = {
  key: ["vega_time", "account_id"],
  columns: {
    account_id: { type: "bytea", description: "Identifier of the margin account" },
    timestamp: { type: "timestamptz", description: "Time for which the levels were computed" },
    maintenance_margin: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description: "Margin below which the position is closed out, in the settlement asset's decimals",
    },
    search_level: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description:
        "Margin below which the network moves collateral into the margin account, in the settlement asset's decimals",
    },
    initial_margin: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description: "Margin that the network refills the margin account to, in the settlement asset's decimals",
    },
    collateral_release_level: {
      type: "hugeint",
      unit: "settlement asset",
      nullable: true,
      description:
        "Margin above which the network returns the excess from the margin account, in the settlement asset's decimals",
    },
    tx_hash: txHash,
    vega_time: vegaTime,
    margin_mode: { type: "margin_mode_type", since: 77, description: "Margin mode of the party on the market" },
    margin_factor: {
      type: "numeric",
      since: 77,
      description: "Share of the notional that is held as margin in isolated margin mode; 0 in cross margin mode",
    },
    order_margin: {
      type: "hugeint",
      unit: "settlement asset",
      since: 77,
      description: "Margin for open orders in isolated margin mode, in the settlement asset's decimals",
    },
    order_margin_account_id: {
      type: "bytea",
      nullable: true,
      since: 77,
      description: "Identifier of the account that holds the order margin; NULL in cross margin mode",
    },
  },
};

export const ledger: TableFacts = {
  key: ["ledger_entry_time"],
  columns: {
    ledger_entry_time: {
      type: "timestamptz",
      description: "Time of the block plus one microsecond for each earlier entry, unique for each entry",
    },
    account_from_id: { type: "bytea", description: "Identifier of the account that was debited" },
    account_to_id: { type: "bytea", description: "Identifier of the account that was credited" },
    quantity: { type: "hugeint", unit: "asset", description: "Amount that was moved, in the asset's decimals" },
    tx_hash: txHash,
    vega_time: vegaTime,
    transfer_time: { type: "timestamptz", description: "Time at which the network made the entry" },
    account_from_balance: {
      type: "hugeint",
      unit: "asset",
      description: "Balance of the debited account after the entry, in the asset's decimals",
    },
    account_to_balance: {
      type: "hugeint",
      unit: "asset",
      description: "Balance of the credited account after the entry, in the asset's decimals",
    },
    type: {
      type: "text",
      nullable: true,
      description: "Name of the entry's transfer type, such as TRANSFER_TYPE_MTM_WIN",
    },
    transfer_id: {
      type: "bytea",
      nullable: true,
      since: 69,
      description: "Identifier of the transfer that caused the entry; NULL if there was none",
    },
  },
};

export const deposits: TableFacts = {
  key: ["id", "party_id", "vega_time"],
  columns: {
    id: { type: "bytea", description: "Identifier of the deposit" },
    status: { type: "deposit_status", description: "Status of the deposit" },
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that receives the deposit" },
    asset: { type: "bytea", description: "Identifier of the asset" },
    amount: {
      type: "hugeint",
      unit: "asset",
      nullable: true,
      description: "Amount of the deposit, in the asset's decimals",
    },
    foreign_tx_hash: {
      type: "text",
      description: "Hash of the deposit's transaction on the other chain, such as Ethereum",
    },
    credited_timestamp: {
      type: "timestamptz",
      description: "Time at which the network credited the amount to the party; 1970 if it has not",
    },
    created_timestamp: { type: "timestamptz", description: "Time at which the network created the deposit" },
    tx_hash: txHash,
    vega_time: vegaTime,
  },
};

export const withdrawals: TableFacts = {
  key: ["id", "party_id", "vega_time"],
  columns: {
    id: { type: "bytea", description: "Identifier of the withdrawal" },
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that withdraws" },
    amount: {
      type: "numeric",
      unit: "asset",
      nullable: true,
      description: "Amount of the withdrawal, in the asset's decimals",
    },
    asset: { type: "bytea", description: "Identifier of the asset" },
    status: { type: "withdrawal_status", description: "Status of the withdrawal" },
    ref: { type: "text", description: "Reference by which the other chain knows the withdrawal" },
    foreign_tx_hash: {
      type: "text",
      description: "Hash of the withdrawal's transaction on the other chain; empty before it is complete",
    },
    created_timestamp: { type: "timestamptz", description: "Time at which the network created the withdrawal" },
    withdrawn_timestamp: {
      type: "timestamptz",
      description: "Time at which the withdrawal was complete; 1970 if it is not",
    },
    ext: { type: "jsonb", description: "Details for the other chain, such as the receiver's Ethereum address" },
    tx_hash: txHash,
    vega_time: vegaTime,
  },
};

export const rewards: TableFacts = {
  key: ["vega_time", "seq_num"],
  columns: {
    party_id: { type: "bytea", owner: "party", description: "Public key of the party that received the reward" },
    asset_id: { type: "bytea", description: "Identifier of the asset in which the reward was paid" },
    market_id: {
      type: "bytea",
      owner: "market",
      description: "Identifier of the market for which the reward was paid; nodes of v0.78 leave it empty",
    },
    reward_type: {
      type: "text",
      description: "Name of the type of the account that paid the reward, such as ACCOUNT_TYPE_GLOBAL_REWARD",
    },
    epoch_id: { type: "int8", description: "Number of the epoch for which the reward was paid" },
    amount: {
      type: "hugeint",
      unit: "asset",
      nullable: true,
      description: "Amount of the reward, in the asset's decimals",
    },
    percent_of_total: {
      type: "float8",
      nullable: true,
      description: "Share of the party in all that was paid for the same reward, in percent",
    },
    timestamp: { type: "timestamptz", description: "Time at which the reward was paid" },
    tx_hash: txHash,
    vega_time: vegaTime,
    seq_num: seqNum,
    locked_until_epoch_id: {
      type: "int8",
      since: 51,
      description: "Number of the epoch until which the reward is locked",
    },
    quantum_amount: { type: "hugeint", since: 73, description: "Amount of the reward in quantums of the asset" },
    game_id: {
      type: "bytea",
      nullable: true,
      since: 74,
      description: "Identifier of the game for which the reward was paid; NULL if there was none",
    },
  },
};
