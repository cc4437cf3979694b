import type {
  ReferralProgramChanges,
  VolumeDiscountProgramChanges,
  VolumeRebateProgramChanges,
} from "../../../../gen/vega/governance_pb.js";
import type {
  BenefitTier,
  DiscountFactors,
  RewardFactors,
  StakingTier,
  VolumeBenefitTier,
  VolumeRebateBenefitTier,
} from "../../../../gen/vega/vega_pb.js";
import type { Field, NetworkProblem } from "./field.js";
import { compare } from "./numbers.js";
import {
  decimalRule,
  MESSAGE,
  ONE,
  positiveDecimal,
  positiveOrZero,
  requiredDecimal,
  requiredPositiveUint,
} from "./rules.js";

type Problems = Generator<NetworkProblem>;

const KINDS = ["maker", "liquidity", "infrastructure"] as const;

/** Checks a referral program (`checkReferralProgramChanges` in `commands/proposal_submission.go`). */
export function* referralProgramProblems(
  changes: ReferralProgramChanges,
  at: Field,
  enactmentTimestamp: bigint,
): Problems {
  yield* spanProblems(changes, at, enactmentTimestamp);
  const benefits = at.field("benefitTiers");
  for (const [index, tier] of changes.benefitTiers.entries()) {
    yield* benefitTierProblems(tier, benefits.item(index));
  }
  yield* duplicateProblems(
    changes.benefitTiers.map((tier) => `${tier.minimumEpochs}_${tier.minimumRunningNotionalTakerVolume}`),
    benefits,
    "duplicate benefit tier",
  );
  const stakes = at.field("stakingTiers");
  for (const [index, tier] of changes.stakingTiers.entries()) {
    yield* stakingTierProblems(tier, stakes.item(index));
  }
  yield* duplicateProblems(
    changes.stakingTiers.map(({ minimumStakedTokens }) => minimumStakedTokens),
    stakes,
    "duplicate staking tier",
  );
}

/** Checks a volume discount program (`checkVolumeDiscountProgramChanges`). */
export function* volumeDiscountProblems(
  changes: VolumeDiscountProgramChanges,
  at: Field,
  enactmentTimestamp: bigint,
): Problems {
  yield* spanProblems(changes, at, enactmentTimestamp);
  for (const [index, tier] of changes.benefitTiers.entries()) {
    yield* volumeTierProblems(tier, at.field("benefitTiers").item(index));
  }
}

/**
 * Checks a volume rebate program (`checkVolumeRebateProgramChanges`).
 *
 * @param tiers the field of its tiers, which the network calls those of a volume discount program
 */
export function* volumeRebateProblems(
  changes: VolumeRebateProgramChanges,
  at: Field,
  tiers: Field,
  enactmentTimestamp: bigint,
): Problems {
  yield* spanProblems(changes, at, enactmentTimestamp);
  for (const [index, tier] of changes.benefitTiers.entries()) {
    yield* rebateTierProblems(tier, tiers.item(index));
  }
}

function* spanProblems(
  {
    endOfProgramTimestamp: end,
    windowLength,
  }: { readonly endOfProgramTimestamp: bigint; readonly windowLength: bigint },
  at: Field,
  enactmentTimestamp: bigint,
): Problems {
  const ends = at.field("endOfProgramTimestamp");
  if (end === 0n) {
    yield ends.problem(MESSAGE.required);
  } else if (end < 0n) {
    yield ends.problem(MESSAGE.positive);
  } else if (end < enactmentTimestamp) {
    yield ends.problem("must be greater than proposal_submission.terms.enactment_timestamp");
  }
  if (windowLength === 0n) {
    yield at.field("windowLength").problem(MESSAGE.required);
  } else if (windowLength > 100n) {
    yield at.field("windowLength").problem(MESSAGE.atMost100);
  }
}

function* benefitTierProblems(tier: BenefitTier, at: Field): Problems {
  yield* requiredPositiveUint(at.field("minimumRunningNotionalTakerVolume"), tier.minimumRunningNotionalTakerVolume);
  yield* requiredPositiveUint(at.field("minimumEpochs"), tier.minimumEpochs);
  const { referralRewardFactors: rewards, referralDiscountFactors: discounts } = tier;
  if (rewards === undefined) {
    yield at.field("referralRewardFactors").problem(MESSAGE.required);
  }
  if (discounts === undefined) {
    yield at.field("referralDiscountFactors").problem(MESSAGE.required);
  }
  for (const kind of KINDS) {
    if (rewards !== undefined) {
      const name: keyof RewardFactors = `${kind}RewardFactor`;
      yield* requiredDecimal(at.field("referralRewardFactors").field(name), rewards[name], positiveOrZero);
    }
    if (discounts !== undefined) {
      const name: keyof DiscountFactors = `${kind}DiscountFactor`;
      yield* requiredDecimal(at.field("referralDiscountFactors").field(name), discounts[name], positiveOrZero);
    }
  }
}

function* stakingTierProblems({ minimumStakedTokens, referralRewardMultiplier }: StakingTier, at: Field): Problems {
  yield* requiredPositiveUint(at.field("minimumStakedTokens"), minimumStakedTokens);
  yield* requiredDecimal(at.field("referralRewardMultiplier"), referralRewardMultiplier, (multiplier) =>
    compare(multiplier, ONE) < 0 ? "must be greater than or equal to 1" : undefined,
  );
}

function* volumeTierProblems(tier: VolumeBenefitTier, at: Field): Problems {
  yield* requiredPositiveUint(at.field("minimumRunningNotionalTakerVolume"), tier.minimumRunningNotionalTakerVolume);
  const { volumeDiscountFactors: factors } = tier;
  if (factors === undefined) {
    yield at.field("volumeDiscountFactors").problem(MESSAGE.required);
    return;
  }
  for (const kind of KINDS) {
    const name: keyof DiscountFactors = `${kind}DiscountFactor`;
    yield* decimalRule(at.field("volumeDiscountFactors").field(name), factors[name], positiveOrZero);
  }
}

function* rebateTierProblems(tier: VolumeRebateBenefitTier, at: Field): Problems {
  const fraction = at.field("minimumPartyMakerVolumeFraction");
  yield* requiredDecimal(fraction, tier.minimumPartyMakerVolumeFraction, positiveDecimal);
  yield* requiredDecimal(at.field("additionalMakerRebate"), tier.additionalMakerRebate, positiveOrZero);
}

function* duplicateProblems(keys: readonly string[], at: Field, message: string): Problems {
  for (const [index, key] of keys.entries()) {
    if (keys.indexOf(key) < index) {
      yield at.item(index).problem(message);
    }
  }
}
