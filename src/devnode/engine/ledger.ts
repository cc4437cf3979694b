import { create } from "@bufbuild/protobuf";
import {
  type Account,
  type AccountDetails,
  AccountDetailsSchema,
  AccountSchema,
  AccountType,
  PartySchema,
} from "../../../gen/vega/vega_pb.js";
import { type AccountKey, accountId, accountName, NETWORK } from "./identifiers.js";
import type { State, Work } from "./state.js";

/** The general account of a party for an asset. */
export function generalAccount(owner: string, asset: string): AccountKey {
  return { owner, asset, marketId: "", type: AccountType.GENERAL };
}

/** An account of the network itself: for an asset on a market, or, with an empty market, for the asset alone. */
export function networkAccount(type: AccountType, asset: string, marketId: string): AccountKey {
  return { owner: NETWORK, asset, marketId, type };
}

/** What an account holds, in units of the asset's last decimal; 0 where it is not there. */
export function balanceOf({ accounts }: State, key: AccountKey): bigint {
  return BigInt(accounts.get(accountName(key))?.balance ?? "0");
}

/** Tell of a key that is a party from now on, if it is new. */
export function noteParty({ state: { parties }, emit }: Work, id: string): void {
  if (!parties.has(id)) {
    parties.add(id);
    emit({ case: "party", value: create(PartySchema, { id }) });
  }
}

/**
 * Give a party its general account for an asset, with what parties begin with, if it has none. Who has one is a party.
 *
 * @param work the block
 * @param partyId the party
 * @param asset the asset
 */
export function openGeneralAccount(work: Work, partyId: string, asset: string): void {
  const key = generalAccount(partyId, asset);
  if (!work.state.accounts.has(accountName(key))) {
    noteParty(work, partyId);
    const account = newAccount(key, work.startingBalance);
    work.state.accounts.set(accountName(key), account);
    work.emit({ case: "account", value: account });
  }
}

/** Make an account with a balance, in units of the asset's last decimal. */
export function newAccount(key: AccountKey, balance: string): Account {
  return create(AccountSchema, { ...key, id: accountId(key), balance });
}

/** An account as ledger entries name it: without an owner where that is the network, without a market where there is none. */
export function accountDetails({ owner, asset, marketId, type }: AccountKey): AccountDetails {
  return create(AccountDetailsSchema, {
    assetId: asset,
    type,
    ...(owner !== NETWORK && { owner }),
    ...(marketId !== "" && { marketId }),
  });
}
