import { create } from "@bufbuild/protobuf";
import { LedgerMovementsSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  type Account,
  type Deposit,
  Deposit_Status,
  DepositSchema,
  type MarginLevels,
  MarginLevelsSchema,
  MarginMode,
  TransferType,
  Withdrawal_Status,
  WithdrawalSchema,
} from "../../../gen/vega/vega_pb.js";
import { NETWORK } from "../engine/identifiers.js";
import type { Block, Event } from "../world/event.js";
import { ACCOUNTS, accountOfSameAsset, balance, madeUpAccount } from "./accounts.js";
import { assetId, COUNT, partyId } from "./chain.js";
import { decimal, hashOf, numberedId, pick, scatter } from "./numbers.js";
import { freeText } from "./texts.js";
import { turn } from "./trading.js";

/** How many balances a block tells, and how many entries it adds to the ledger. */
export const BALANCES_PER_BLOCK = 2;
export const ENTRIES_PER_BLOCK = 2;

const SECOND = 1_000_000_000n;

/** An account whose balance changed. */
export function madeUpBalance({ height }: Block, index: number): Account {
  const number = BALANCES_PER_BLOCK * turn(height) + index;
  return madeUpAccount(number % ACCOUNTS, number);
}

/** An entry of the ledger, between two accounts of one asset. */
export function ledgerEvent({ height, time }: Block, index: number): Event {
  const number = ENTRIES_PER_BLOCK * turn(height) + index;
  const from = number % ACCOUNTS;
  const entry = {
    fromAccount: details(madeUpAccount(from, 0)),
    toAccount: details(madeUpAccount(accountOfSameAsset(from, number), 0)),
    amount: String(scatter(1, 9_000_000, number)),
    type: pick([TransferType.DEPOSIT, TransferType.MARGIN_LOW, TransferType.MTM_WIN], number),
    timestamp: time,
    fromAccountBalance: balance(number),
    toAccountBalance: balance(number + 1),
    ...(number % 5 === 0 && { transferId: numberedId("transfer", number) }),
  };
  return { case: "ledgerMovements", value: create(LedgerMovementsSchema, { ledgerMovements: [{ entries: [entry] }] }) };
}

/** What an entry of the ledger says of an account. The network's accounts have no owner. */
function details({ owner, asset, marketId: market, type }: Account) {
  return {
    assetId: asset,
    type,
    ...(owner !== NETWORK && { owner }),
    ...(market !== "" && { marketId: market }),
  };
}

/** A deposit that was found on Ethereum. */
export function madeUpDeposit({ height, time }: Block): Deposit {
  const k = turn(height);
  const status = pick([Deposit_Status.FINALIZED, Deposit_Status.OPEN, Deposit_Status.CANCELLED], k);
  return create(DepositSchema, {
    id: numberedId("deposit", k),
    status,
    partyId: partyId(k),
    asset: assetId(k),
    amount: String(scatter(1, 90_000_000, k)),
    txHash: ethereumHash(k),
    creditedTimestamp: status === Deposit_Status.FINALIZED ? time : 0n,
    createdTimestamp: time - 12n * SECOND,
  });
}

/** A withdrawal, in its last state. */
export function withdrawalEvent({ height, time }: Block): Event {
  const k = turn(height);
  const status = pick([Withdrawal_Status.FINALIZED, Withdrawal_Status.OPEN, Withdrawal_Status.REJECTED], k);
  const done = status === Withdrawal_Status.FINALIZED;
  const receiverAddress = `0x${hashOf(`receiver:${k % COUNT.party}`).slice(0, 40)}`;
  return {
    case: "withdrawal",
    value: create(WithdrawalSchema, {
      id: numberedId("withdrawal", k),
      partyId: partyId(k),
      amount: String(scatter(1, 80_000_000, k)),
      asset: assetId(k),
      status,
      ref: freeText(k + 6),
      txHash: done ? ethereumHash(k) : "",
      createdTimestamp: time - (done ? 60n : 0n) * SECOND,
      withdrawnTimestamp: done ? time : 0n,
      ext: { ext: { case: "erc20", value: { receiverAddress } } },
    }),
  };
}

const ethereumHash = (number: number): string => `0x${hashOf(`ethereum:${number}`)}`;

/**
 * The margin that a party has to hold on its market.
 *
 * @param block the time of the block that it is of
 * @param k the number of the block, from 0; each block is of the party with this number
 */
export function madeUpMargin({ time }: Pick<Block, "time">, k: number): MarginLevels {
  const { owner, marketId: market, asset } = madeUpAccount(2 * COUNT.party + (k % COUNT.party), 0);
  const isolated = k % 2 === 0;
  return create(MarginLevelsSchema, {
    maintenanceMargin: String(scatter(1_000, 90_000, k)),
    searchLevel: String(scatter(1_100, 99_000, k)),
    initialMargin: String(scatter(1_500, 120_000, k)),
    collateralReleaseLevel: String(scatter(2_000, 150_000, k)),
    partyId: owner,
    marketId: market,
    asset,
    timestamp: time,
    orderMargin: isolated ? String(scatter(1, 9_000, k)) : "0",
    marginMode: isolated ? MarginMode.ISOLATED_MARGIN : MarginMode.CROSS_MARGIN,
    marginFactor: isolated ? decimal(1 + (k % 1000), 3) : "0",
  });
}
