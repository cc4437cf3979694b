import { create } from "@bufbuild/protobuf";
import { type Account, AccountSchema, AccountType } from "../../../gen/vega/vega_pb.js";
import { accountId, NETWORK } from "../engine/identifiers.js";
import { assetId, COUNT, marketId, partyId, settlementAsset } from "./chain.js";
import { scatter } from "./numbers.js";
import { once } from "./once.js";

/** Each party has three accounts; the network's come behind them: a pool for each market, the rest by asset. */
const PARTY_ACCOUNTS = 3 * COUNT.party;

/** How many accounts there are. Each one is numbered from 0. */
export const ACCOUNTS = 311;

/**
 * Make an account as it stands at some time.
 *
 * @param number which account, from 0; numbers beyond the count begin again
 * @param seed what the balance depends on, from 0
 * @returns the account
 */
export function madeUpAccount(number: number, seed: number): Account {
  return { ...(accounts()[number % ACCOUNTS] ?? accountOf(0)), balance: balance(seed) };
}

/** An amount of up to 9e8 units of 12 decimals. */
export const balance = (seed: number): string => `${scatter(1, 900_000_000, seed)}000000000000`;

/**
 * Find another account of the same asset.
 *
 * @param number which account, from 0
 * @param distance how far away the other one is, among those of the asset
 * @returns the other account's number
 */
export function accountOfSameAsset(number: number, distance: number): number {
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

/**
 * Make a party's account that is of no market.
 *
 * @param owner the party, 64 hex digits
 * @param asset the number of its asset
 * @param amount what is in it
 * @returns the account
 */
export function generalAccount(owner: string, asset: number, amount: string): Account {
  return { ...named(owner, AccountType.GENERAL, asset), balance: amount };
}

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
