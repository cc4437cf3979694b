import { create } from "@bufbuild/protobuf";
import { type BusEvent, BusEventSchema, BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
import type { Event, Happening } from "../world/event.js";

/** The cases of the events that the bus tells. */
export type BusCase = Exclude<BusEvent["event"]["case"], undefined>;

/** The version of the bus's events, as deployed nodes of v0.78 have it. */
const VERSION = 1;

/** The types whose names are not those of their cases. */
const NAMED_OTHERWISE: Partial<Record<BusCase, BusEventType>> = {
  epochEvent: BusEventType.EPOCH_UPDATE,
  rewardPayout: BusEventType.REWARD_PAYOUT_EVENT,
  rankingEvent: BusEventType.VALIDATOR_RANKING,
  erc20MultisigSignerEvent: BusEventType.ERC20_MULTI_SIG_SIGNER_EVENT,
  erc20MultisigSetThresholdEvent: BusEventType.ERC20_MULTI_SIG_SET_THRESHOLD,
  erc20MultisigSignerAdded: BusEventType.ERC20_MULTI_SIG_SIGNER_ADDED,
  erc20MultisigSignerRemoved: BusEventType.ERC20_MULTI_SIG_SIGNER_REMOVED,
  positionStateEvent: BusEventType.POSITION_STATE,
  protocolUpgradeEvent: BusEventType.PROTOCOL_UPGRADE_PROPOSAL,
  coreSnapshotEvent: BusEventType.SNAPSHOT_TAKEN,
  distressedOrders: BusEventType.DISTRESSED_ORDERS_CLOSED,
  feesStats: BusEventType.FEES_STATS_UPDATED,
  paidLiquidityFeesStats: BusEventType.PAID_LIQUIDITY_FEES_STATS_UPDATED,
  vestingBalancesSummary: BusEventType.VESTING_SUMMARY,
  transferFees: BusEventType.TRANSFER_FEES_PAID,
  transferFeesDiscount: BusEventType.TRANSFER_FEES_DISCOUNT_UPDATED,
  txErrEvent: BusEventType.TX_ERROR,
};

const types = new Map(
  BusEventSchema.oneofs
    .flatMap(({ fields }) => fields)
    .map(({ localName, name }) => {
      const otherwise: Partial<Record<string, BusEventType>> = NAMED_OTHERWISE;
      const named: Partial<Record<string, string | BusEventType>> = BusEventType;
      return [localName, otherwise[localName] ?? named[name.toUpperCase()]] as const;
    }),
);

/**
 * Tell the type of an event.
 *
 * @param name the case of the event, such as `order`
 * @returns its type; UNSPECIFIED where there is none
 */
export function busEventType(name: string): BusEventType {
  const type = types.get(name);
  return typeof type === "number" ? type : BusEventType.UNSPECIFIED;
}

/**
 * Make what tells what happened as the event bus does.
 *
 * @param chainId the chain's identifier
 * @returns makes the event of a happening, the same one each time; `undefined` for a change that the bus does not tell
 */
export function busEvents(chainId: string): (happening: Happening) => BusEvent | undefined {
  const made = new WeakMap<Happening, BusEvent>();
  return (happening) => {
    const { block, sequence, txHash, event } = happening;
    if (!isTold(event)) {
      return undefined;
    }
    const known = made.get(happening);
    if (known !== undefined) {
      return known;
    }
    const type = busEventType(event.case);
    const id = `${block.height}-${sequence}`;
    const told = create(BusEventSchema, {
      id,
      block: block.hash.toUpperCase(),
      type,
      event,
      version: VERSION,
      chainId,
      txHash: txHash.toUpperCase(),
    });
    made.set(happening, told);
    return told;
  };
}

function isTold(event: Event): event is Extract<Event, { readonly case: BusCase }> {
  return event.case !== "position" && event.case !== "endedOrder";
}
