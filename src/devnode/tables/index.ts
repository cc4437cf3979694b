import type { TableName } from "../../schema/tables.js";
import { balances, deposits, ledger, withdrawals } from "./accounts.js";
import type { TableDefinition } from "./column.js";
import { liquidity_provisions, margin_levels, market_data, markets, positions, rewards } from "./markets.js";
import { blocks, checkpoints, delegations } from "./network.js";
import { orders, trades } from "./trading.js";

export type { Column, TableDefinition } from "./column.js";

/**
 * The export tables of the local node (specification, 2.8). The specification does not show their columns. These
 * columns follow a trading network's data node, with free text wherever a user could type it.
 */
export const tables: { readonly [name in TableName]: TableDefinition } = {
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
