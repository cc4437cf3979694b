import { create } from "@bufbuild/protobuf";
import { LedgerMovementsSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  type Account,
  type AccountDetails,
  AccountDetailsSchema,
  AccountSchema,
  AccountType,
  type LedgerEntry,
  LedgerEntrySchema,
  LedgerMovementSchema,
  PartySchema,
  PostTransferBalanceSchema,
  type TransferType,
} from "../../../gen/vega/vega_pb.js";
import { smaller } from "./decimal.js";
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

/** Transfers between accounts that belong together. */
export interface Transfers {
  /**
   * Move an amount, or what the account holds if that is less.
   *
   * @returns what was moved, in units of the asset's last decimal
   */
  move(from: AccountKey, to: AccountKey, amount: bigint, type: TransferType): bigint;
  /** What an account holds after the transfers so far. */
  balance(key: AccountKey): bigint;
  /** Put the transfers into effect; tell of them, and of the accounts that they changed. */
  finish(): void;
}

/**
 * Begin transfers. What leaves an account enters another.
 *
 * @param work the block
 * @returns moves amounts; nothing is put into effect before `finish()`
 */
export function beginTransfers({ state: { accounts }, block, emit }: Work): Transfers {
  const entries: LedgerEntry[] = [];
  const touched = new Map<string, Touched>();

  function touch(key: AccountKey): Touched {
    const name = accountName(key);
    let account = touched.get(name);
    if (account === undefined) {
      const balance = BigInt(accounts.get(name)?.balance ?? "0");
      account = { key, details: accountDetails(key), balance, isChanged: false };
      touched.set(name, account);
    }
    return account;
  }

  function change(account: Touched, by: bigint): string {
    account.balance += by;
    account.isChanged = true;
    return String(account.balance);
  }

  return {
    move(fromKey, toKey, wanted, type) {
      const from = touch(fromKey);
      const amount = smaller(wanted, from.balance);
      if (amount > 0n) {
        const to = touch(toKey);
        entries.push(
          create(LedgerEntrySchema, {
            fromAccount: from.details,
            toAccount: to.details,
            amount: String(amount),
            type,
            timestamp: block.time,
            fromAccountBalance: change(from, -amount),
            toAccountBalance: change(to, amount),
          }),
        );
      }
      return amount;
    },
    balance: (key) => touch(key).balance,
    finish() {
      const changed = [...touched].filter(([, { isChanged }]) => isChanged);
      if (changed.length === 0) {
        return;
      }
      const balances = changed.map(([, { details, balance }]) =>
        create(PostTransferBalanceSchema, { account: details, balance: String(balance) }),
      );
      const movement = create(LedgerMovementSchema, { entries, balances });
      const value = create(LedgerMovementsSchema, { ledgerMovements: [movement] });
      emit({ case: "ledgerMovements", value });
      for (const [name, { key, balance }] of changed) {
        const account = { ...(accounts.get(name) ?? newAccount(key, "0")), balance: String(balance) };
        accounts.set(name, account);
        emit({ case: "account", value: account });
      }
    },
  };
}

/** An account that transfers involve. */
interface Touched {
  readonly key: AccountKey;
  readonly details: AccountDetails;
  balance: bigint;
  isChanged: boolean;
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
