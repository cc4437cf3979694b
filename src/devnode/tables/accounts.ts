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
import { accountId, NETWORK } from "../engine/identifiers.js";
import { amount, type Fields, type FieldsOf, id, json, name, origin, sequence, syntheticTime, time } from "./fields.js";

export const balances: FieldsOf = (happening) => {
  const { event } = happening;
  return event.case === "account"
    ? [{ account_id: event.value.id, ...origin(happening), balance: amount(event.value.balance) }]
    : [];
};

/** An entry's time becomes one of its own where the rows of the block are put together (`blockRows`). */
export const ledger: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "ledgerMovements") {
    return [];
  }
  return event.value.ledgerMovements
    .flatMap(({ entries }) => entries)
    .map((entry) => ({
      ledger_entry_time: syntheticTime(happening),
      ...account("from", entry.fromAccount),
      ...account("to", entry.toAccount),
      quantity: amount(entry.amount),
      ...origin(happening),
      transfer_time: time(entry.timestamp) ?? happening.block.time,
      account_from_balance: amount(entry.fromAccountBalance),
      account_to_balance: amount(entry.toAccountBalance),
      type: name(TransferTypeSchema, entry.type),
      transfer_id: id(entry.transferId),
    }));
};

/** An account of an entry: its identifier, and what the export of a party's ledger says of it. */
function account(side: "from" | "to", details: AccountDetails | undefined): Fields {
  const { owner: named, assetId: asset = "", marketId = "", type = AccountType.UNSPECIFIED } = details ?? {};
  const owner = named || NETWORK;
  return {
    asset_id: asset,
    [`account_${side}_id`]: accountId({ owner, asset, marketId, type }),
    [`account_${side}_party_id`]: owner,
    [`account_${side}_market_id`]: marketId,
    [`account_${side}_account_type`]: AccountType[type] ?? String(type),
  };
}

export const margin_levels: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "marginLevels") {
    return [];
  }
  const { value } = event;
  const idOf = (type: AccountType) =>
    accountId({ owner: value.partyId, asset: value.asset, marketId: value.marketId, type });
  return [
    {
      account_id: idOf(AccountType.MARGIN),
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
        value.marginMode === MarginMode.ISOLATED_MARGIN ? idOf(AccountType.ORDER_MARGIN) : undefined,
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
