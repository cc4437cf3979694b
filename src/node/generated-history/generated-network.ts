import { create } from "@bufbuild/protobuf";
import {
  type CheckpointEvent,
  CheckpointEventSchema,
  DelegationBalanceEventSchema,
  RewardPayoutEventSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { LiquidityProvision_Status, LiquidityProvisionSchema, PeggedReference } from "../../../gen/vega/vega_pb.js";
import type { Block, Event } from "../world/block-event.js";
import { epochOf } from "../world/epochs.js";
import { blockIndex } from "./generated-trading.js";
import {
  assetId,
  COUNT,
  decimal,
  freeText,
  hashOf,
  marketId,
  numberedId,
  partyId,
  pick,
  scatter,
} from "./seeded-values.js";

/** Generates a checkpoint. */
export function generatedCheckpoint({ height, hash }: Block): CheckpointEvent {
  return create(CheckpointEventSchema, {
    hash: hashOf(`checkpoint:${height}`),
    blockHash: hash.toUpperCase(), // In the consensus engine's format; snapshots use lower case.
    blockHeight: height,
  });
}

/** Generates a delegation in the block's epoch. */
export function delegationEvent({ height }: Block): Event {
  const k = blockIndex(height);
  const value = create(DelegationBalanceEventSchema, {
    party: partyId(k),
    nodeId: nodeId(k),
    epochSeq: String(epochOf(height)),
    amount: `${scatter(1, 90_000, k)}000000000000000000`,
  });
  return { case: "delegationBalance", value };
}

/** Generates a reward payout for the block's epoch. */
export function rewardEvent({ height, time }: Block): Event {
  const k = blockIndex(height);
  const value = create(RewardPayoutEventSchema, {
    party: partyId(k),
    asset: assetId(k),
    epochSeq: String(epochOf(height)),
    amount: String(scatter(1, 90_000_000, k)),
    percentOfTotalReward: decimal(scatter(1, 10_000, k), 3),
    rewardType: pick(["ACCOUNT_TYPE_GLOBAL_REWARD", "ACCOUNT_TYPE_REWARD_MAKER_PAID_FEES"], k),
    timestamp: time,
    lockedUntilEpoch: String(epochOf(height) + 30n),
    quantumAmount: String(scatter(1, 9_000_000, k)),
    ...(k % 4 === 0 && { gameId: hashOf(`game:${k % 7}`) }),
  });
  return { case: "rewardPayout", value };
}

/** Generates a liquidity provision, which has four versions in consecutive blocks. */
export function liquidityEvent({ height, time }: Block): Event {
  const k = blockIndex(height);
  const number = Math.floor(k / 4);
  const value = create(LiquidityProvisionSchema, {
    id: numberedId("liquidity_provision", number),
    partyId: partyId(number),
    createdAt: time - BigInt(k % 4) * 1_000_000_000n,
    updatedAt: time,
    marketId: marketId(number % COUNT.market),
    commitmentAmount: String(scatter(1_000_000, 9_000_000, k)),
    fee: decimal(scatter(1, 90, k), 4),
    buys: [{ liquidityOrder: { reference: PeggedReference.BEST_BID, proportion: k % 20, offset: String(k % 9) } }],
    version: BigInt(1 + (k % 4)),
    status: pick(
      [
        LiquidityProvision_Status.PENDING,
        LiquidityProvision_Status.ACTIVE,
        LiquidityProvision_Status.ACTIVE,
        LiquidityProvision_Status.CANCELLED,
      ],
      k,
    ),
    reference: freeText(k + 2),
  });
  return { case: "liquidityProvision", value };
}

function nodeId(number: number): string {
  return hashOf(`node:${number % 13}`);
}
