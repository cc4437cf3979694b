import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { LedgerMovementsSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  type Account,
  type AccountDetails,
  AccountDetailsSchema,
  AccountSchema,
  AccountType,
  LedgerEntrySchema,
  type LedgerMovement,
  LedgerMovementSchema,
  PartySchema,
  PostTransferBalanceSchema,
  type TransferType,
} from "../../../gen/vega/vega_pb.js";
import type { ExecutionContext, MarketState, State } from "./engine-state.js";

/** Owner of the network's own accounts, as the data node reports it. */
export const NETWORK = "network";

/** The types of the network's accounts for each market, in the order of creation (`core/collateral/engine.go`, CreateMarketAccounts). */
export const MARKET_ACCOUNTS: readonly AccountType[] = [
  AccountType.INSURANCE,
  AccountType.SETTLEMENT,
  AccountType.FEES_LIQUIDITY,
  AccountType.FEES_MAKER,
  AccountType.LIQUIDITY_FEES_BONUS_DISTRIBUTION,
];

/** The types of the network's accounts for each asset, in the order of creation (`core/collateral/engine.go`, ensureAllAssetAccounts). */
export const ASSET_ACCOUNTS: readonly AccountType[] = [
  AccountType.FEES_INFRASTRUCTURE,
  AccountType.EXTERNAL,
  AccountType.GLOBAL_REWARD,
  AccountType.NETWORK_TREASURY,
  AccountType.GLOBAL_INSURANCE,
  AccountType.PENDING_TRANSFERS,
  AccountType.PENDING_FEE_REFERRAL_REWARD,
];

/** The fields that identify an account. */
export interface AccountKey {
  /** Public key, or {@link NETWORK}. */
  readonly owner: string;
  readonly asset: string;
  /** Empty if the account belongs to no market. */
  readonly marketId: string;
  readonly type: AccountType;
}

/**
 * Returns the identifier of an account: the SHA-256 hash of its asset, its owner, its market and the name of its type (v0.78,
 * `deterministicIDFromAccount` in datanode/sqlstore/accounts.go).
 *
 * @example accountId({ owner: party, asset, marketId: "", type: AccountType.GENERAL })
 */
export function accountId({ owner, asset, marketId, type }: AccountKey): string {
  return createHash("sha256").update(`${asset}${owner}${marketId}ACCOUNT_TYPE_${AccountType[type]}`).digest("hex");
}

/** Returns the key of an account in memory. */
export function accountName({ owner, asset, marketId, type }: AccountKey): string {
  return `${owner} ${asset} ${marketId} ${AccountType[type]}`;
}

export function generalAccount(owner: string, asset: string): AccountKey {
  return { owner, asset, marketId: "", type: AccountType.GENERAL };
}

/** Returns the key of a network account for an asset on a market. An empty market means the asset as a whole. */
export function networkAccount(type: AccountType, asset: string, marketId: string): AccountKey {
  return { owner: NETWORK, asset, marketId, type };
}

export function marginAccount(market: MarketState, owner: string): AccountKey {
  return { owner, asset: market.asset, marketId: market.market.id, type: AccountType.MARGIN };
}

/** Returns whether a party has a margin account on a market. It gets one with its first order. */
export function hasMarginAccount({ state }: ExecutionContext, market: MarketState, partyId: string): boolean {
  return state.accounts.has(accountName(marginAccount(market, partyId)));
}

/** Returns the balance of an account in units of the asset's last decimal; 0 for an account that does not exist. */
export function balanceOf({ accounts }: State, key: AccountKey): bigint {
  return BigInt(accounts.get(accountName(key))?.balance ?? "0");
}

/** Creates an account message with a balance in units of the asset's last decimal. */
export function newAccount(key: AccountKey, balance: string): Account {
  return create(AccountSchema, { ...key, id: accountId(key), balance });
}

/** Returns an account as ledger entries name it: the network has no owner, and an account may have no market. */
function accountDetails({ owner, asset, marketId, type }: AccountKey): AccountDetails {
  return create(AccountDetailsSchema, {
    assetId: asset,
    type,
    ...(owner !== NETWORK && { owner }),
    ...(marketId !== "" && { marketId }),
  });
}

/** Registers a key as a party and emits the event, unless it is a party already. */
export function registerParty({ state: { parties }, emit }: ExecutionContext, id: string): void {
  if (!parties.has(id)) {
    parties.add(id);
    emit({ case: "party", value: create(PartySchema, { id }) });
  }
}

/**
 * Opens a party's general account for an asset with the starting balance, unless it exists. The owner becomes a party.
 */
export function openGeneralAccount(context: ExecutionContext, partyId: string, asset: string): void {
  const key = generalAccount(partyId, asset);
  if (!context.state.accounts.has(accountName(key))) {
    registerParty(context, partyId);
    const account = newAccount(key, context.startingBalance);
    context.state.accounts.set(accountName(key), account);
    context.emit({ case: "account", value: account });
  }
}

/** Opens an account with a balance of 0, unless it exists. */
export function openAccount(context: ExecutionContext, key: AccountKey): void {
  const { accounts } = context.state;
  if (!accounts.has(accountName(key))) {
    if (key.owner !== NETWORK) {
      registerParty(context, key.owner);
    }
    const account = newAccount(key, "0");
    accounts.set(accountName(key), account);
    context.emit({ case: "account", value: account });
  }
}

/** A transfer of funds between two accounts. */
export interface FundsTransfer {
  readonly from: AccountKey;
  readonly to: AccountKey;
  /** In units of the asset's last decimal. The source account must cover it. */
  readonly amount: bigint;
  readonly type: TransferType;
  /** Identifier of the transfer command, if there is one. */
  readonly transferId?: string;
}

/**
 * Transfers funds between accounts, in order. Each transfer changes both balances and emits an event for each account
 * (`core/collateral/engine.go`, TransferFunds).
 */
export function transferFunds(context: ExecutionContext, moves: readonly FundsTransfer[]): LedgerMovement[] {
  return moves.map(({ from, to, amount, type, transferId }) => {
    const fromAccountBalance = changeBalance(context, from, -amount);
    const toAccountBalance = changeBalance(context, to, amount);
    const toAccount = accountDetails(to);
    const entry = create(LedgerEntrySchema, {
      fromAccount: accountDetails(from),
      toAccount,
      amount: String(amount),
      type,
      timestamp: context.block.time,
      fromAccountBalance,
      toAccountBalance,
      ...(transferId !== undefined && { transferId }),
    });
    // The network puts the transferred amount into the field named balance.
    const balances = [create(PostTransferBalanceSchema, { account: toAccount, balance: String(amount) })];
    return create(LedgerMovementSchema, { entries: [entry], balances });
  });
}

/** Emits ledger movements as one event, unless there are none. */
export function emitLedgerMovements({ emit }: ExecutionContext, ledgerMovements: LedgerMovement[]): void {
  if (ledgerMovements.length > 0) {
    emit({ case: "ledgerMovements", value: create(LedgerMovementsSchema, { ledgerMovements }) });
  }
}

function changeBalance({ state, emit }: ExecutionContext, key: AccountKey, by: bigint): string {
  const name = accountName(key);
  const balance = String(balanceOf(state, key) + by);
  const account = { ...(state.accounts.get(name) ?? newAccount(key, "0")), balance };
  state.accounts.set(name, account);
  // The network emits no event for it (`core/collateral/engine.go`, UpdateBalance), so that listings keep its balance of 0.
  if (key.type !== AccountType.EXTERNAL) {
    emit({ case: "account", value: account });
  }
  return balance;
}
