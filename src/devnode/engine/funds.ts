import { create } from "@bufbuild/protobuf";
import { LedgerMovementsSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  AccountType,
  LedgerEntrySchema,
  type LedgerMovement,
  LedgerMovementSchema,
  PostTransferBalanceSchema,
  type TransferType,
} from "../../../gen/vega/vega_pb.js";
import { type AccountKey, accountName, NETWORK } from "./identifiers.js";
import { accountDetails, balanceOf, newAccount, noteParty } from "./ledger.js";
import type { Work } from "./state.js";

/** An amount that moves from one account to another. */
export interface Move {
  readonly from: AccountKey;
  readonly to: AccountKey;
  /** In units of the asset's last decimal; the first account must hold it. */
  readonly amount: bigint;
  readonly type: TransferType;
  /** The transfer that it belongs to. */
  readonly transferId?: string;
}

/**
 * Move amounts between accounts, one after the other. Each one changes both balances, and emits an event for either
 * account (`core/collateral/engine.go`, TransferFunds).
 *
 * @param work the block
 * @param moves the amounts, also those of 0
 * @returns the movements of the ledger, one for each amount; the caller emits them with {@link emitMovements}
 */
export function moveFunds(work: Work, moves: readonly Move[]): LedgerMovement[] {
  return moves.map(({ from, to, amount, type, transferId }) => {
    const fromAccountBalance = changeBalance(work, from, -amount);
    const toAccountBalance = changeBalance(work, to, amount);
    const toAccount = accountDetails(to);
    const entry = create(LedgerEntrySchema, {
      fromAccount: accountDetails(from),
      toAccount,
      amount: String(amount),
      type,
      timestamp: work.block.time,
      fromAccountBalance,
      toAccountBalance,
      ...(transferId !== undefined && { transferId }),
    });
    // The network puts what was moved where the name says balance.
    const balances = [create(PostTransferBalanceSchema, { account: toAccount, balance: String(amount) })];
    return create(LedgerMovementSchema, { entries: [entry], balances });
  });
}

/** Emit the event of movements of the ledger, unless there are none. */
export function emitMovements({ emit }: Work, ledgerMovements: LedgerMovement[]): void {
  if (ledgerMovements.length > 0) {
    emit({ case: "ledgerMovements", value: create(LedgerMovementsSchema, { ledgerMovements }) });
  }
}

/**
 * Open an account without a balance, unless it is there.
 *
 * @param work the block
 * @param key the account; its owner becomes a party
 */
export function openAccount(work: Work, key: AccountKey): void {
  const { accounts } = work.state;
  if (!accounts.has(accountName(key))) {
    if (key.owner !== NETWORK) {
      noteParty(work, key.owner);
    }
    const account = newAccount(key, "0");
    accounts.set(accountName(key), account);
    work.emit({ case: "account", value: account });
  }
}

function changeBalance({ state, emit }: Work, key: AccountKey, by: bigint): string {
  const name = accountName(key);
  const balance = String(balanceOf(state, key) + by);
  const account = { ...(state.accounts.get(name) ?? newAccount(key, "0")), balance };
  state.accounts.set(name, account);
  // What is outside of the network is an account of the ledger alone.
  if (key.type !== AccountType.EXTERNAL) {
    emit({ case: "account", value: account });
  }
  return balance;
}
