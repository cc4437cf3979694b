import { create } from "@bufbuild/protobuf";
import { LedgerMovementsSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  type Account,
  AccountSchema,
  AccountType,
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
import {
  ASSET_ACCOUNTS,
  accountId,
  MARKET_ACCOUNTS,
  NETWORK,
  networkAccount,
  newAccount,
} from "../engine/collateral.js";
import type { Block, Event } from "../world/block-event.js";
import { generatedAssets } from "./generated-markets.js";
import { blockIndex } from "./generated-trading.js";
import {
  assetId,
  COUNT,
  decimal,
  freeText,
  hashOf,
  marketId,
  numberedId,
  once,
  partyId,
  pick,
  scatter,
  settlementAsset,
} from "./seeded-values.js";

const SECOND = 1_000_000_000n;

/** Numbers of balance changes and ledger entries per block. */
export const BALANCES_PER_BLOCK = 2;
export const ENTRIES_PER_BLOCK = 2;

/**
 * Each party has three accounts. The network's accounts follow: an insurance pool per market, then two accounts per
 * asset.
 */
const PARTY_ACCOUNTS = 3 * COUNT.party;

/** Number of accounts, which are numbered from 0. */
export const ACCOUNTS = 311;

export function generatedAccount(number: number, seed: number): Account {
  return { ...(accounts()[number % ACCOUNTS] ?? accountOf(0)), balance: balance(seed) };
}

/** Returns a balance of up to 9e8 units with 12 decimals. */
const balance = (seed: number): string => `${scatter(1, 900_000_000, seed)}000000000000`;

function accountOfSameAsset(number: number, distance: number): number {
  const asset = accounts()[number % ACCOUNTS]?.asset ?? "";
  const same = byAsset().get(asset) ?? [];
  const at = same.indexOf(number % ACCOUNTS) + 1 + (distance % (same.length - 1));
  return same[at % same.length] ?? 0;
}

const accounts = once((): readonly Account[] => Array.from({ length: ACCOUNTS }, (_, number) => accountOf(number)));

const byAsset = once(() =>
  accounts().reduce(
    (groups, { asset }, number) => groups.set(asset, [...(groups.get(asset) ?? []), number]),
    new Map<string, number[]>(),
  ),
);

export function fundedAccount(owner: string, asset: number, amount: string): Account {
  return { ...named(owner, AccountType.GENERAL, asset), balance: amount };
}

/** Generates the network's accounts of all markets and assets that rows name none of: their balance is 0. */
export const emptyAccounts = once((): readonly Account[] => {
  const hasRows = new Set(accounts().map(({ id }) => id));
  const ofMarkets = Array.from({ length: COUNT.market }, (_, market) =>
    MARKET_ACCOUNTS.map((type) => networkAccount(type, assetId(settlementAsset(market)), marketId(market))),
  );
  const ofAssets = generatedAssets().map(({ id }) => ASSET_ACCOUNTS.map((type) => networkAccount(type, id, "")));
  return [...ofMarkets, ...ofAssets]
    .flat()
    .map((key) => newAccount(key, "0"))
    .filter(({ id }) => !hasRows.has(id));
});

function named(owner: string, type: AccountType, asset: number, market?: number): Account {
  const account = { owner, asset: assetId(asset), marketId: market === undefined ? "" : marketId(market), type };
  return create(AccountSchema, { ...account, id: accountId(account), balance: "0" });
}

function accountOf(number: number): Account {
  const pool = number - PARTY_ACCOUNTS;
  if (pool < 0) {
    const market = number % COUNT.market;
    return number < 2 * COUNT.party
      ? named(partyId(number), AccountType.GENERAL, number)
      : named(partyId(number), AccountType.MARGIN, settlementAsset(market), market);
  }
  if (pool < COUNT.market) {
    return named(NETWORK, AccountType.INSURANCE, settlementAsset(pool), pool);
  }
  const asset = pool - COUNT.market;
  return asset < COUNT.asset
    ? named(NETWORK, AccountType.GLOBAL_REWARD, asset)
    : named(NETWORK, AccountType.NETWORK_TREASURY, asset - COUNT.asset);
}

/** Generates an account whose balance has changed. */
export function generatedBalance({ height }: Block, index: number): Account {
  const number = BALANCES_PER_BLOCK * blockIndex(height) + index;
  return generatedAccount(number % ACCOUNTS, number);
}

export function ledgerEvent({ height, time }: Block, index: number): Event {
  const number = ENTRIES_PER_BLOCK * blockIndex(height) + index;
  const from = number % ACCOUNTS;
  const entry = {
    fromAccount: details(generatedAccount(from, 0)),
    toAccount: details(generatedAccount(accountOfSameAsset(from, number), 0)),
    amount: String(scatter(1, 9_000_000, number)),
    type: pick([TransferType.DEPOSIT, TransferType.MARGIN_LOW, TransferType.MTM_WIN], number),
    timestamp: time,
    fromAccountBalance: balance(number),
    toAccountBalance: balance(number + 1),
    ...(number % 5 === 0 && { transferId: numberedId("transfer", number) }),
  };
  return { case: "ledgerMovements", value: create(LedgerMovementsSchema, { ledgerMovements: [{ entries: [entry] }] }) };
}

/** Returns an account as ledger entries name it. The network's accounts have no owner. */
function details({ owner, asset, marketId: market, type }: Account) {
  return {
    assetId: asset,
    type,
    ...(owner !== NETWORK && { owner }),
    ...(market !== "" && { marketId: market }),
  };
}

export function generatedDeposit({ height, time }: Block): Deposit {
  const k = blockIndex(height);
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

export function withdrawalEvent({ height, time }: Block): Event {
  const k = blockIndex(height);
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

export function generatedMarginLevels({ time }: Pick<Block, "time">, k: number): MarginLevels {
  const { owner, marketId: market, asset } = generatedAccount(2 * COUNT.party + (k % COUNT.party), 0);
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
