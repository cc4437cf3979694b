import type { BusEvent, BusEventType } from "../../gen/vega/events/v1/events_pb.js";
import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";
import { quoted } from "../errors/quoted.js";

/** What an event of the bus holds: its case, and the message of that case. */
export type EventContent = Extract<BusEvent["event"], { readonly case: string }>;

/** The types of events that this release knows, by the names of `BusEvent`'s cases. */
export type EventType = EventContent["case"];

/**
 * The name in `BusEventType` of each type. The definitions spell some of them in another way, so they are no rule of
 * spelling. The compiler refuses a table that lacks a case; the definitions themselves are loaded with the first stream.
 */
const names = {
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

/** All types of events that this release knows. */
export const eventTypes: readonly EventType[] = Object.keys(names).filter(isEventType);

/**
 * Tell whether a name is that of a type of events.
 *
 * @param name any text
 * @returns whether it is
 */
export function isEventType(name: string): name is EventType {
  return Object.hasOwn(names, name);
}

/**
 * Name a type as the definitions' enum of types does.
 *
 * @param type the type
 * @returns the name of a member of `BusEventType`
 */
export function busEventTypeName(type: EventType): keyof typeof BusEventType {
  return names[type];
}

/**
 * Check the name of a type of events.
 *
 * @param name the name, such as `order` or `transactionResult`
 * @param where what has the name, for errors, such as `types[0]`
 * @returns the type
 * @throws {@link RequestError} where there is no such type, with the nearest that there is
 */
export function readEventType(name: string, where: string): EventType {
  if (typeof name === "string" && isEventType(name)) {
    return name;
  }
  const similar = nearest(String(name), eventTypes);
  throw new RequestError(`${where} is ${quoted(String(name))}, which is no type of events`, {
    advice:
      similar === undefined
        ? `Give one of ${eventTypes.slice(0, 5).join(", ")} and so on; docs/live.md lists them.`
        : `Did you mean ${similar}? docs/live.md lists all types.`,
  });
}
