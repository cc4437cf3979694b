import type { TableName } from "../table-names.js";
import { balances, deposits, ledger, margin_levels, rewards, withdrawals } from "./accounts.js";
import type { TableFacts } from "./facts.js";
import { liquidity_provisions, market_data, markets } from "./markets.js";
import { blocks, checkpoints, delegations } from "./network.js";
import { orders, positions, trades } from "./trading.js";

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
