import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { smaller } from "./decimal.js";
import { emitMovements, type Move, moveFunds } from "./funds.js";
import { balanceOf, generalAccount, networkAccount } from "./ledger.js";
import { hasMarginAccount, marginAccount } from "./margins.js";
import { settleGain, tellPosition } from "./positions.js";
import type { MarketState, Work } from "./state.js";

/**
 * Marks a market to its last price: who lost since the last time pays into the settlement account of the market, from the
 * margin and then from the general account, and who won is paid from it, into the margin account. A party pays what it has
 * at most, for no position is closed out; where that is too little, winners share what there is by what they won. What is less
 * than a unit stays in the settlement account until it is one. Positions are emitted whose profit changes.
 *
 * @param work the block
 * @param market the market, which has traded
 */
export function markToMarket(work: Work, market: MarketState): void {
  const { asset } = market;
  const settlement = networkAccount(AccountType.SETTLEMENT, asset, market.market.id);
  const gains = [...market.holdings.keys()].map((partyId) => ({ partyId, amount: settleGain(market, partyId) }));
  const losses = gains.filter(({ amount }) => amount < 0n).flatMap((loss) => lossesOf(work, market, loss));
  const winners = gains.filter(({ amount }) => amount > 0n);
  const won = winners.reduce((sum, { amount }) => sum + amount, 0n);
  const there = losses.reduce((sum, { amount }) => sum + amount, balanceOf(work.state, settlement));
  const wins = winners.map(({ partyId, amount }) => ({
    from: settlement,
    to: hasMarginAccount(work, market, partyId) ? marginAccount(market, partyId) : generalAccount(partyId, asset),
    amount: there >= won ? amount : (amount * there) / won,
    type: TransferType.MTM_WIN,
  }));
  emitMovements(
    work,
    moveFunds(
      work,
      [...losses, ...wins].filter(({ amount }) => amount > 0n),
    ),
  );
  for (const partyId of [...market.holdings.keys()]) {
    tellPosition(work, market, partyId);
  }
}

function lossesOf(
  work: Work,
  market: MarketState,
  loss: { readonly partyId: string; readonly amount: bigint },
): Move[] {
  const { partyId } = loss;
  const to = networkAccount(AccountType.SETTLEMENT, market.asset, market.market.id);
  let left = -loss.amount;
  return [marginAccount(market, partyId), generalAccount(partyId, market.asset)].map((from) => {
    const amount = smaller(left, balanceOf(work.state, from));
    left -= amount;
    return { from, to, amount, type: TransferType.MTM_LOSS };
  });
}
