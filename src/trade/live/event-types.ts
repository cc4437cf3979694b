import type { BusEvent, BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
import { closestName, quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";

/** The content of an event as Protobuf holds it. */
type BusEventContent = Extract<BusEvent["event"], { readonly case: string }>;

/** The event types that this release knows, by the names of `BusEvent`'s cases. */
export type EventType = Exclude<BusEvent["event"]["case"], undefined>;

/** The content of an event: its type, and the message of that type. */
type EventContent<C = BusEventContent> = C extends BusEventContent
  ? { readonly kind: C["case"]; readonly value: C["value"] }
  : never;

/**
 * The name of each type in `BusEventType`. The names follow no rule, because the definitions spell some of them
 * differently. The compiler rejects a table that lacks a case; the definitions themselves are loaded with the first stream.
 */
const BUS_EVENT_TYPE_NAMES = {
  timeUpdate: "TIME_UPDATE",
  ledgerMovements: "LEDGER_MOVEMENTS",
  positionResolution: "POSITION_RESOLUTION",
  order: "ORDER",
  account: "ACCOUNT",
  party: "PARTY",
  trade: "TRADE",
  marginLevels: "MARGIN_LEVELS",
  proposal: "PROPOSAL",
  vote: "VOTE",
  marketData: "MARKET_DATA",
  nodeSignature: "NODE_SIGNATURE",
  lossSocialization: "LOSS_SOCIALIZATION",
  settlePosition: "SETTLE_POSITION",
  settleDistressed: "SETTLE_DISTRESSED",
  marketCreated: "MARKET_CREATED",
  asset: "ASSET",
  marketTick: "MARKET_TICK",
  withdrawal: "WITHDRAWAL",
  deposit: "DEPOSIT",
  auction: "AUCTION",
  riskFactor: "RISK_FACTOR",
  networkParameter: "NETWORK_PARAMETER",
  liquidityProvision: "LIQUIDITY_PROVISION",
  marketUpdated: "MARKET_UPDATED",
  oracleSpec: "ORACLE_SPEC",
  oracleData: "ORACLE_DATA",
  delegationBalance: "DELEGATION_BALANCE",
  validatorScore: "VALIDATOR_SCORE",
  epochEvent: "EPOCH_UPDATE",
  validatorUpdate: "VALIDATOR_UPDATE",
  stakeLinking: "STAKE_LINKING",
  rewardPayout: "REWARD_PAYOUT_EVENT",
  checkpoint: "CHECKPOINT",
  keyRotation: "KEY_ROTATION",
  stateVar: "STATE_VAR",
  networkLimits: "NETWORK_LIMITS",
  transfer: "TRANSFER",
  rankingEvent: "VALIDATOR_RANKING",
  erc20MultisigSignerEvent: "ERC20_MULTI_SIG_SIGNER_EVENT",
  erc20MultisigSetThresholdEvent: "ERC20_MULTI_SIG_SET_THRESHOLD",
  erc20MultisigSignerAdded: "ERC20_MULTI_SIG_SIGNER_ADDED",
  erc20MultisigSignerRemoved: "ERC20_MULTI_SIG_SIGNER_REMOVED",
  positionStateEvent: "POSITION_STATE",
  ethereumKeyRotation: "ETHEREUM_KEY_ROTATION",
  protocolUpgradeEvent: "PROTOCOL_UPGRADE_PROPOSAL",
  beginBlock: "BEGIN_BLOCK",
  endBlock: "END_BLOCK",
  protocolUpgradeStarted: "PROTOCOL_UPGRADE_STARTED",
  settleMarket: "SETTLE_MARKET",
  transactionResult: "TRANSACTION_RESULT",
  coreSnapshotEvent: "SNAPSHOT_TAKEN",
  protocolUpgradeDataNodeReady: "PROTOCOL_UPGRADE_DATA_NODE_READY",
  distressedOrders: "DISTRESSED_ORDERS_CLOSED",
  expiredOrders: "EXPIRED_ORDERS",
  distressedPositions: "DISTRESSED_POSITIONS",
  stopOrder: "STOP_ORDER",
  fundingPeriod: "FUNDING_PERIOD",
  fundingPeriodDataPoint: "FUNDING_PERIOD_DATA_POINT",
  teamCreated: "TEAM_CREATED",
  teamUpdated: "TEAM_UPDATED",
  refereeSwitchedTeam: "REFEREE_SWITCHED_TEAM",
  refereeJoinedTeam: "REFEREE_JOINED_TEAM",
  referralProgramStarted: "REFERRAL_PROGRAM_STARTED",
  referralProgramUpdated: "REFERRAL_PROGRAM_UPDATED",
  referralProgramEnded: "REFERRAL_PROGRAM_ENDED",
  referralSetCreated: "REFERRAL_SET_CREATED",
  refereeJoinedReferralSet: "REFEREE_JOINED_REFERRAL_SET",
  partyActivityStreak: "PARTY_ACTIVITY_STREAK",
  volumeDiscountProgramStarted: "VOLUME_DISCOUNT_PROGRAM_STARTED",
  volumeDiscountProgramUpdated: "VOLUME_DISCOUNT_PROGRAM_UPDATED",
  volumeDiscountProgramEnded: "VOLUME_DISCOUNT_PROGRAM_ENDED",
  referralSetStatsUpdated: "REFERRAL_SET_STATS_UPDATED",
  vestingStatsUpdated: "VESTING_STATS_UPDATED",
  volumeDiscountStatsUpdated: "VOLUME_DISCOUNT_STATS_UPDATED",
  feesStats: "FEES_STATS_UPDATED",
  fundingPayments: "FUNDING_PAYMENTS",
  paidLiquidityFeesStats: "PAID_LIQUIDITY_FEES_STATS_UPDATED",
  vestingBalancesSummary: "VESTING_SUMMARY",
  transferFees: "TRANSFER_FEES_PAID",
  transferFeesDiscount: "TRANSFER_FEES_DISCOUNT_UPDATED",
  partyMarginModeUpdated: "PARTY_MARGIN_MODE_UPDATED",
  partyProfileUpdated: "PARTY_PROFILE_UPDATED",
  teamsStatsUpdated: "TEAMS_STATS_UPDATED",
  timeWeightedNotionalPositionUpdated: "TIME_WEIGHTED_NOTIONAL_POSITION_UPDATED",
  cancelledOrders: "CANCELLED_ORDERS",
  gameScores: "GAME_SCORES",
  amm: "AMM",
  volumeRebateProgramStarted: "VOLUME_REBATE_PROGRAM_STARTED",
  volumeRebateProgramUpdated: "VOLUME_REBATE_PROGRAM_UPDATED",
  volumeRebateProgramEnded: "VOLUME_REBATE_PROGRAM_ENDED",
  volumeRebateStatsUpdated: "VOLUME_REBATE_STATS_UPDATED",
  market: "MARKET",
  txErrEvent: "TX_ERROR",
} as const satisfies Record<EventType, keyof typeof BusEventType>;

/** All event types that this release knows. */
export const eventTypes: readonly EventType[] = Object.keys(BUS_EVENT_TYPE_NAMES).filter(isEventType);

function isEventType(name: string): name is EventType {
  return Object.hasOwn(BUS_EVENT_TYPE_NAMES, name);
}

export function busEventTypeName(type: EventType): keyof typeof BusEventType {
  return BUS_EVENT_TYPE_NAMES[type];
}

/**
 * Parses the name of an event type.
 *
 * @throws {@link RequestError} if there is no such type, with the closest name
 */
export function parseEventType(name: string, where: string): EventType {
  if (typeof name === "string" && isEventType(name)) {
    return name;
  }
  const similar = closestName(String(name), eventTypes);
  throw new RequestError(`must be an event type (got ${quoted(String(name))})`, {
    option: where,
    advice:
      similar === undefined
        ? `Use one of ${eventTypes.slice(0, 5).join(", ")} and so on. docs/live.md lists all types.`
        : `Did you mean ${similar}? docs/live.md lists all types.`,
  });
}

/** The position of an event in the chain. */
export interface EventOrigin {
  /** The event's identifier, `BLOCK-SEQUENCE`. */
  readonly id: string;
  /** The height of its block, from the identifier. */
  readonly block: bigint;
  /** Its number in the block, from the identifier; the first event has the lowest. */
  readonly sequence: bigint;
  /** The hash of its block, as the node sends it. */
  readonly blockHash: string;
  /**
   * The hash of the transaction that caused it. For events of the network itself, the value is the one that the node
   * sends.
   */
  readonly txHash: string;
  readonly chainId: string;
}

/** An event of one type, or of one of several: its type, its message, and its position. */
export type LiveEventOf<T extends EventType> = EventOrigin & Extract<EventContent, { readonly kind: T }>;

/** An event of a type that this release does not know, from a newer node: the complete message. */
export interface UnknownEvent extends EventOrigin {
  readonly kind: "unknown";
  readonly value: BusEvent;
}

/** An event of any type, discriminated by `kind`. */
export type LiveEvent = LiveEventOf<EventType> | UnknownEvent;

/** Both numbers fit 64 bits. */
const ID = /^(\d{1,19})-(\d{1,19})$/;

/**
 * Reads an event from the bus.
 *
 * @throws {@link ProtocolError} if its identifier is not `BLOCK-SEQUENCE`
 */
export function parseEvent(event: BusEvent): LiveEvent {
  const [, block, sequence] = ID.exec(event.id) ?? [];
  if (block === undefined || sequence === undefined) {
    throw new ProtocolError(`an event ID must have the form BLOCK-SEQUENCE (got ${quoted(event.id)})`, {
      advice:
        "Use another node, and report this to the operator of the node: neither gaps nor repeated events can be detected.",
    });
  }
  const { case: kind = "unknown", value = event } = event.event;
  // One literal without a spread: this runs for each event, and a spread takes eight times as long.
  return {
    id: event.id,
    block: BigInt(block),
    sequence: BigInt(sequence),
    blockHash: event.block,
    txHash: event.txHash,
    chainId: event.chainId,
    kind,
    value,
  } as LiveEvent; // The compiler cannot see that kind and value are those of one case.
}
