import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { beginTransfers, generalAccount, networkAccount } from "./ledger.js";
import { settleGain, tellPosition } from "./positions.js";
import type { MarketState, Work } from "./state.js";

/**
 * Mark a market to its last price: who lost since the last time pays into the settlement account of the market, and who won
 * is paid from it. A party pays what its general account holds at most, for no margin is kept and no position is closed
 * out; where that is too little, winners share what there is by what they won. What is less than a unit stays in the
 * settlement account until it is one. Positions are told whose profit changes.
 *
 * @param work the block
 * @param market the market, which has traded
 */
export function markToMarket(work: Work, market: MarketState): void {
  const { asset } = market;
  const settlement = networkAccount(AccountType.SETTLEMENT, asset, market.market.id);
  const transfers = beginTransfers(work);
  const winners: { readonly partyId: string; readonly amount: bigint }[] = [];
  let won = 0n;
  for (const partyId of [...market.holdings.keys()]) {
    const amount = settleGain(market, partyId);
    if (amount < 0n) {
      transfers.move(generalAccount(partyId, asset), settlement, -amount, TransferType.MTM_LOSS);
    } else if (amount > 0n) {
      winners.push({ partyId, amount });
      won += amount;
    }
  }
  const there = transfers.balance(settlement);
  for (const { partyId, amount } of winners) {
    const share = there >= won ? amount : (amount * there) / won;
    transfers.move(settlement, generalAccount(partyId, asset), share, TransferType.MTM_WIN);
  }
  transfers.finish();
  for (const partyId of [...market.holdings.keys()]) {
    tellPosition(work, market, partyId);
  }
}
