import {
  type AccountDetails,
  AccountType,
  Deposit_StatusSchema,
  MarginMode,
  MarginModeSchema,
  TransferTypeSchema,
  Withdrawal_StatusSchema,
  WithdrawExtSchema,
} from "../../../gen/vega/vega_pb.js";
import { accountId } from "../made-up/accounts.js";
import { amount, type FieldsOf, id, json, name, origin, sequence, syntheticTime, time } from "./fields.js";

export const balances: FieldsOf = (happening) => {
  const { event } = happening;
  return event.case === "account"
    ? [{ account_id: event.value.id, ...origin(happening), balance: amount(event.value.balance) }]
    : [];
};

/** Entries of a block have times of their own, one behind the other; the rows of a block are put so (`blockRows`). */
export const ledger: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "ledgerMovements") {
    return [];
  }
  return event.value.ledgerMovements
    .flatMap(({ entries }) => entries)
    .map((entry) => ({
      ledger_entry_time: syntheticTime(happening),
      account_from_id: detailsId(entry.fromAccount),
      account_to_id: detailsId(entry.toAccount),
      quantity: amount(entry.amount),
      ...origin(happening),
      transfer_time: time(entry.timestamp) ?? happening.block.time,
      account_from_balance: amount(entry.fromAccountBalance),
      account_to_balance: amount(entry.toAccountBalance),
      type: name(TransferTypeSchema, entry.type),
      transfer_id: id(entry.transferId),
    }));
};

function detailsId(details: AccountDetails | undefined): string | undefined {
  const { owner = "", assetId: asset, marketId = "", type } = details ?? {};
  return asset === undefined || type === undefined ? undefined : accountId({ owner, asset, marketId, type });
}

export const margin_levels: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "marginLevels") {
    return [];
  }
  const { value } = event;
  const account = (type: AccountType) =>
    accountId({ owner: value.partyId, asset: value.asset, marketId: value.marketId, type });
  return [
    {
      account_id: account(AccountType.MARGIN),
      timestamp: time(value.timestamp) ?? happening.block.time,
      maintenance_margin: amount(value.maintenanceMargin),
      search_level: amount(value.searchLevel),
      initial_margin: amount(value.initialMargin),
      collateral_release_level: amount(value.collateralReleaseLevel),
      ...origin(happening),
      margin_mode: name(MarginModeSchema, value.marginMode),
      margin_factor: amount(value.marginFactor),
      order_margin: amount(value.orderMargin),
      order_margin_account_id:
        value.marginMode === MarginMode.ISOLATED_MARGIN ? account(AccountType.ORDER_MARGIN) : undefined,
    },
  ];
};

export const deposits: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "deposit") {
    return [];
  }
  const { value } = event;
  return [
    {
      id: value.id,
      status: name(Deposit_StatusSchema, value.status),
      party_id: value.partyId,
      asset: value.asset,
      amount: amount(value.amount),
      foreign_tx_hash: value.txHash,
      credited_timestamp: value.creditedTimestamp,
      created_timestamp: value.createdTimestamp,
      ...origin(happening),
    },
  ];
};

export const withdrawals: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "withdrawal") {
    return [];
  }
  const { value } = event;
  return [
    {
      id: value.id,
      party_id: value.partyId,
      amount: amount(value.amount),
      asset: value.asset,
      status: name(Withdrawal_StatusSchema, value.status),
      ref: value.ref,
      foreign_tx_hash: value.txHash,
      created_timestamp: value.createdTimestamp,
      withdrawn_timestamp: value.withdrawnTimestamp,
      ext: json(WithdrawExtSchema, value.ext),
      ...origin(happening),
    },
  ];
};

export const rewards: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "rewardPayout") {
    return [];
  }
  const { value } = event;
  return [
    {
      party_id: value.party,
      asset_id: value.asset,
      reward_type: value.rewardType,
      epoch_id: amount(value.epochSeq),
      amount: amount(value.amount),
      percent_of_total: amount(value.percentOfTotalReward),
      timestamp: value.timestamp,
      ...origin(happening),
      ...sequence(happening),
      locked_until_epoch_id: amount(value.lockedUntilEpoch),
      quantum_amount: amount(value.quantumAmount),
      game_id: id(value.gameId),
    },
  ];
};
