import { type DescField, type DescMessage, isMessage, toJson } from "@bufbuild/protobuf";
import {
  CheckpointEventSchema,
  DelegationBalanceEventSchema,
  RewardPayoutEventSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { MarketSchema } from "../../../gen/vega/markets_pb.js";
import {
  type AccountDetails,
  AccountSchema,
  AccountType,
  DepositSchema,
  type Fee,
  LedgerEntrySchema,
  LiquidityProvisionSchema,
  MarginLevelsSchema,
  MarginMode,
  MarketDataSchema,
  OrderSchema,
  PositionSchema,
  TradeSchema,
  TransferTypeSchema,
  WithdrawalSchema,
} from "../../../gen/vega/vega_pb.js";
import type { TableName } from "../../data/schema/table-names.js";
import { columnsEver, type TableColumn } from "../../data/schema/table-schema.js";
import { accountId, NETWORK } from "../engine/collateral.js";
import type { Block, BlockEvent, Event } from "../world/block-event.js";
import type { Value } from "./postgres-text.js";

/** The values of a row by column. Those of columns that the table does not have in a version are not used. */
export type Row = Readonly<Record<string, Value>>;

/** Returns the rows that an event adds to a table. */
type RowsOf = (blockEvent: BlockEvent) => readonly Row[];

type Values = { readonly [E in Event as E["case"]]: E["value"] };

/** The names of a message's fields, where they differ from those of the columns. */
type Renamed = Readonly<Record<string, string>>;

function rowsFrom<C extends keyof Values>(
  table: TableName,
  kinds: readonly C[],
  desc: DescMessage,
  renamed: Renamed = {},
  more: (value: Values[C], blockEvent: BlockEvent) => Row = () => ({}),
): RowsOf {
  const valuesOf = columnValues(table, desc, renamed);
  const isWanted = (event: Event): event is Event & { readonly value: Values[C] } =>
    kinds.some((kind) => kind === event.case);
  return (blockEvent) => {
    const { event } = blockEvent;
    return isWanted(event)
      ? [Object.assign(valuesOf(event.value), origin(blockEvent), more(event.value, blockEvent))]
      : [];
  };
}

/** Returns a function that reads the columns of a table from the fields of a message. */
function columnValues(
  table: TableName,
  desc: DescMessage,
  renamed: Renamed,
): (message: object) => Record<string, Value> {
  const readers = columnsEver(table).flatMap((column) => {
    const field = desc.fields.find(({ name }) => name === (renamed[column.name] ?? column.name));
    return field === undefined ? [] : [{ name: column.name, field, read: valueReader(column, field) }];
  });
  return (message) => {
    const row: Record<string, Value> = {};
    for (const { name, field, read } of readers) {
      row[name] = read(Reflect.get(message, field.localName));
    }
    return row;
  };
}

/** Returns a function that makes a column's value of the value of a field, which is a message, a list of them or a scalar. */
function valueReader(
  { holds, nullable }: TableColumn,
  { message, enum: values }: DescField,
): (value: unknown) => Value {
  if (message !== undefined) {
    const json = (value: unknown) => (isMessage(value, message) ? toJson(message, value) : null);
    return (value) => (Array.isArray(value) ? value.map(json) : value === undefined ? undefined : json(value));
  }
  if (values !== undefined && holds === "enum") {
    return (number) => values.value[Number(number)]?.name;
  }
  const hasNone = nullable && (holds === "time" || holds === "id"); // Its 0 and its empty text are no value.
  return (value) => (isScalar(value) && (value || !hasNone) ? value : undefined);
}

function isScalar(value: unknown): value is string | bigint | number | boolean {
  return typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol" && value !== undefined;
}

const syntheticTime = ({ block, sequence }: BlockEvent): bigint => block.time + BigInt(sequence) * 1000n;

function origin(blockEvent: BlockEvent): Row {
  const { txHash, block, sequence } = blockEvent;
  return { tx_hash: txHash, vega_time: block.time, seq_num: sequence, synthetic_time: syntheticTime(blockEvent) };
}

const ledgerEntry = columnValues("ledger", LedgerEntrySchema, {
  quantity: "amount",
  account_from_balance: "from_account_balance",
  account_to_balance: "to_account_balance",
});

const FEES = {
  maker_fee: "makerFee",
  infrastructure_fee: "infrastructureFee",
  liquidity_fee: "liquidityFee",
  maker_fee_referral_discount: "makerFeeReferrerDiscount",
  infrastructure_fee_referral_discount: "infrastructureFeeReferrerDiscount",
  liquidity_fee_referral_discount: "liquidityFeeReferrerDiscount",
  maker_fee_volume_discount: "makerFeeVolumeDiscount",
  infrastructure_fee_volume_discount: "infrastructureFeeVolumeDiscount",
  liquidity_fee_volume_discount: "liquidityFeeVolumeDiscount",
  buy_back_fee: "buyBackFee",
  treasury_fee: "treasuryFee",
  high_volume_maker_fee: "highVolumeMakerFee",
} as const;

function fees(side: "buyer" | "seller", fee: Fee | undefined): Row {
  return Object.fromEntries(Object.entries(FEES).map(([column, field]) => [`${side}_${column}`, fee?.[field]]));
}

/** Returns the columns of an entry's account: its identifier, and what the export of a party's ledger contains. */
function account(side: "from" | "to", details: AccountDetails | undefined): Row {
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

export const blockFields = ({ time, height, hash }: Block): Row => ({ vega_time: time, height, hash });

/** The rows that events add to each table. */
export const ROWS: { readonly [table in TableName]: RowsOf } = {
  balances: rowsFrom("balances", ["account"], AccountSchema, { account_id: "id" }),
  checkpoints: rowsFrom("checkpoints", ["checkpoint"], CheckpointEventSchema),
  delegations: rowsFrom("delegations", ["delegationBalance"], DelegationBalanceEventSchema, {
    party_id: "party",
    epoch_id: "epoch_seq",
  }),
  /** The times of entries become unique when the rows of the block are combined (`blockRows`). */
  ledger(blockEvent) {
    const { event, block } = blockEvent;
    const movements = event.case === "ledgerMovements" ? event.value.ledgerMovements : [];
    return movements
      .flatMap(({ entries }) => entries)
      .map((entry) => ({
        ...ledgerEntry(entry),
        ...origin(blockEvent),
        ledger_entry_time: syntheticTime(blockEvent),
        ...account("from", entry.fromAccount),
        ...account("to", entry.toAccount),
        transfer_time: entry.timestamp || block.time,
        type: TransferTypeSchema.value[entry.type]?.name,
      }));
  },
  orders: rowsFrom(
    "orders",
    ["order", "endedOrder"],
    OrderSchema,
    { lp_id: "liquidity_provision_id" },
    ({ peggedOrder, icebergOrder: iceberg }) => ({
      pegged_offset: peggedOrder?.offset,
      pegged_reference: peggedOrder?.reference,
      reserved_remaining: iceberg?.reservedRemaining,
      peak_size: iceberg?.peakSize,
      minimum_visible_size: iceberg?.minimumVisibleSize,
      initial_peak_size: iceberg?.peakSize,
      minimum_peak_size: iceberg?.minimumVisibleSize,
    }),
  ),
  trades: rowsFrom("trades", ["trade"], TradeSchema, {}, ({ buyerFee, sellerFee }) => ({
    ...fees("buyer", buyerFee),
    ...fees("seller", sellerFee),
  })),
  market_data: rowsFrom("market_data", ["marketData"], MarketDataSchema, {
    auction_trigger: "trigger",
    liquidity_provider_fee_shares: "liquidity_provider_fee_share",
  }),
  margin_levels: rowsFrom("margin_levels", ["marginLevels"], MarginLevelsSchema, {}, (value, { block }) => {
    const { partyId: owner, asset, marketId, marginMode } = value;
    const idOf = (type: AccountType) => accountId({ owner, asset, marketId, type });
    return {
      account_id: idOf(AccountType.MARGIN),
      timestamp: value.timestamp || block.time,
      order_margin_account_id: marginMode === MarginMode.ISOLATED_MARGIN ? idOf(AccountType.ORDER_MARGIN) : undefined,
    };
  }),
  positions: rowsFrom(
    "positions",
    ["position"],
    PositionSchema,
    {
      average_entry_market_price: "average_entry_price",
      loss: "loss_socialisation_amount",
      distressed_status: "position_status",
      pending_open_volume: "open_volume",
      pending_realised_pnl: "realised_pnl",
      pending_unrealised_pnl: "unrealised_pnl",
      pending_average_entry_market_price: "average_entry_price",
    },
    // v0.78, `Position` in datanode/entities/position.go: prices of the asset have columns of their own.
    (_, { event }) => {
      const price = event.case === "position" ? event.entryPriceInAsset : undefined;
      return { adjustment: "0", average_entry_price: price, pending_average_entry_price: price };
    },
  ),
  liquidity_provisions: rowsFrom("liquidity_provisions", ["liquidityProvision"], LiquidityProvisionSchema),
  markets: rowsFrom(
    "markets",
    ["marketCreated", "marketUpdated"],
    MarketSchema,
    { liquidity_sla_parameters: "liquidity_sla_params", enable_tx_reordering: "enable_transaction_reordering" },
    ({ tradableInstrument }) => ({ instrument_id: tradableInstrument?.instrument?.id }),
  ),
  deposits: rowsFrom("deposits", ["deposit"], DepositSchema, { foreign_tx_hash: "tx_hash" }),
  withdrawals: rowsFrom("withdrawals", ["withdrawal"], WithdrawalSchema, { foreign_tx_hash: "tx_hash" }),
  blocks: ({ block, event }) => (event.case === "beginBlock" ? [blockFields(block)] : []),
  rewards: rowsFrom("rewards", ["rewardPayout"], RewardPayoutEventSchema, {
    party_id: "party",
    asset_id: "asset",
    epoch_id: "epoch_seq",
    percent_of_total: "percent_of_total_reward",
    locked_until_epoch_id: "locked_until_epoch",
  }),
};
