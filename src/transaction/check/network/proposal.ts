import type { AssetDetails, AssetDetailsUpdate } from "../../../../gen/vega/assets_pb.js";
import type { BatchProposalSubmission, ProposalSubmission } from "../../../../gen/vega/commands/v1/commands_pb.js";
import type {
  BatchProposalTermsChange,
  ProposalRationale,
  ProposalTerms,
  ReferralProgramChanges,
  UpdateAsset,
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
import { compare } from "./go-numbers.js";
import { marketUpdateProblems, newMarketProblems, newSpotMarketProblems, spotMarketUpdateProblems } from "./market.js";
import {
  atMostBytes,
  byteLength,
  decimalRule,
  Field,
  MESSAGE,
  type NetworkProblems,
  ONE,
  positiveDecimal,
  positiveInteger,
  positiveOrZero,
  required,
  requiredDecimal,
  requiredId,
  requiredInteger,
  requiredPositiveUint,
} from "./network-rules.js";
import { governanceTransferProblems, marketStateProblems } from "./transfer.js";

/** A proposed change, alone or in a batch. */
type Change = Extract<(ProposalTerms | BatchProposalTermsChange)["change"], { readonly case: string }>;

/** Checks a proposal (`commands/proposal_submission.go`). */
export function* proposalProblems({ reference, rationale, terms }: ProposalSubmission, at: Field): NetworkProblems {
  yield* atMostBytes(at.field("reference"), reference, 100, MESSAGE.referenceTooLong);
  yield* rationaleProblems(rationale, at.field("rationale"));
  if (terms === undefined) {
    yield at.field("terms").problem(MESSAGE.required);
    return;
  }
  yield* timeProblems(terms, at.field("terms"));
  const { change } = terms;
  const field = new Field(at.field("terms").path, at.field("terms").field("change").property);
  if (change.case === undefined) {
    yield field.problem(MESSAGE.required);
  } else {
    yield* changeProblems(change, field, terms.enactmentTimestamp);
  }
}

/** Checks a batch of proposals (`commands/batch_proposal_submission.go`). */
export function* batchProposalProblems(
  { reference, rationale, terms }: BatchProposalSubmission,
  at: Field,
): NetworkProblems {
  yield* atMostBytes(at.field("reference"), reference, 100, MESSAGE.referenceTooLong);
  yield* rationaleProblems(rationale, at.field("rationale"));
  const inside = at.field("terms");
  if (terms === undefined) {
    yield inside.problem(MESSAGE.required);
    return;
  }
  const changes = inside.field("changes");
  if (terms.changes.length === 0 || terms.changes.length > 250) {
    yield changes.problem(terms.changes.length === 0 ? MESSAGE.required : "must be at most 250");
    return;
  }
  const closing = inside.field("closingTimestamp");
  if (terms.closingTimestamp <= 0n) {
    yield closing.problem(MESSAGE.positive);
  }
  for (const [index, { enactmentTimestamp, change }] of terms.changes.entries()) {
    const item = new Field(changes.item(index).path, changes.property);
    const enactment = item.field("enactmentTimestamp").named(inside.field("enactmentTimestamp").property);
    yield* enactmentProblems(enactmentTimestamp, terms.closingTimestamp, change.case, enactment, closing);
    if (change.case === undefined) {
      yield item.problem(MESSAGE.required);
    } else if (change.case === "updateVolumeRebateProgram") {
      yield new Field(item.field(change.case).path, changes.property).problem(MESSAGE.notValid);
    } else {
      yield* changeProblems(change, item, enactmentTimestamp);
    }
  }
}

function* rationaleProblems(rationale: ProposalRationale | undefined, at: Field): NetworkProblems {
  if (rationale === undefined) {
    yield at.problem(MESSAGE.required);
    return;
  }
  const limits = {
    description: [20_000, "must not exceed 20000 characters"],
    title: [100, "must be less than 100 characters"],
  } as const;
  for (const name of ["description", "title"] as const) {
    const [most, message] = limits[name];
    if (/^[ \n\r\t]*$/.test(rationale[name])) {
      yield at.field(name).problem(MESSAGE.required);
    } else if (byteLength(rationale[name]) > most) {
      yield at.field(name).problem(message);
    }
  }
}

function* timeProblems(terms: ProposalTerms, at: Field): NetworkProblems {
  const { closingTimestamp, validationTimestamp, enactmentTimestamp, change } = terms;
  const closing = at.field("closingTimestamp");
  const validation = at.field("validationTimestamp");
  if (closingTimestamp <= 0n) {
    yield closing.problem(MESSAGE.positive);
  }
  if (validationTimestamp < 0n) {
    yield validation.problem(MESSAGE.positiveOrZero);
  }
  if (validationTimestamp >= closingTimestamp) {
    yield validation.problem("cannot be after or equal to closing time");
  }
  yield* enactmentProblems(enactmentTimestamp, closingTimestamp, change.case, at.field("enactmentTimestamp"), closing);
  if (change.case !== "newAsset") {
    if (validationTimestamp !== 0n) {
      yield validation.problem(MESSAGE.notSupported);
    }
    return;
  }
  if (validationTimestamp === 0n) {
    yield validation.problem(MESSAGE.positive);
  }
  if (validationTimestamp > closingTimestamp) {
    yield validation.problem("cannot be after closing time");
  }
}

function* enactmentProblems(
  enactmentTimestamp: bigint,
  closingTimestamp: bigint,
  change: Change["case"] | undefined,
  enactment: Field,
  closing: Field,
): NetworkProblems {
  if (change === "newFreeform") {
    if (enactmentTimestamp !== 0n) {
      yield enactment.problem(MESSAGE.notSupported);
    }
    return;
  }
  if (enactmentTimestamp <= 0n) {
    yield enactment.problem(MESSAGE.positive);
  }
  if (closingTimestamp > enactmentTimestamp) {
    yield closing.problem("cannot be after enactment time");
  }
}

/**
 * Checks what is proposed.
 *
 * @param change the change
 * @param at the field of the terms, named as the network names that of the change
 * @param enactmentTimestamp when it is enacted, in Unix seconds
 */
function* changeProblems(change: Change, at: Field, enactmentTimestamp: bigint): NetworkProblems {
  const field = at.field(change.case);
  switch (change.case) {
    case "updateMarket":
      yield* marketUpdateProblems(change.value, field, at);
      return;
    case "updateSpotMarket":
      yield* spotMarketUpdateProblems(change.value, field, at);
      return;
    case "updateAsset":
      yield* assetUpdateProblems(change.value, field);
      return;
    case "newFreeform":
      return;
    default:
      yield* configurationProblems(change, field, at, enactmentTimestamp);
  }
}

/** Checks a change whose fields are all in its configuration. */
function* configurationProblems(
  change: Exclude<Change, { readonly case: "updateMarket" | "updateSpotMarket" | "updateAsset" | "newFreeform" }>,
  field: Field,
  at: Field,
  enactmentTimestamp: bigint,
): NetworkProblems {
  const changes = change.case === "newAsset" ? assetField(field, at) : field.field("changes");
  if (change.value.changes === undefined) {
    yield changes.problem(MESSAGE.required);
    return;
  }
  switch (change.case) {
    case "newMarket":
      yield* newMarketProblems(change.value.changes, changes);
      break;
    case "newSpotMarket":
      yield* newSpotMarketProblems(change.value.changes, changes, at);
      break;
    case "updateNetworkParameter":
      yield* required(changes.field("key"), change.value.changes.key);
      yield* required(changes.field("value"), change.value.changes.value);
      break;
    case "newAsset":
      yield* newAssetProblems(change.value.changes, changes);
      break;
    case "newTransfer":
      yield* governanceTransferProblems(change.value.changes, changes.named(transferProperty(changes)));
      break;
    case "cancelTransfer":
      yield* required(changes.field("transferId", "transferId"), change.value.changes.transferId);
      break;
    case "updateMarketState":
      yield* marketStateProblems(change.value.changes, changes);
      break;
    case "updateReferralProgram":
      yield* referralProgramProblems(change.value.changes, changes, enactmentTimestamp);
      break;
    case "updateVolumeDiscountProgram":
      yield* volumeDiscountProblems(change.value.changes, changes, enactmentTimestamp);
      break;
    case "updateVolumeRebateProgram": {
      const tiers = changes
        .field("benefitTiers")
        .named(`${at.property}.update_volume_discount_program.changes.benefit_tiers`);
      yield* volumeRebateProblems(change.value.changes, changes, tiers, enactmentTimestamp);
    }
  }
}

/** Returns the field of a new asset's details. In a batch, the network's name for it also has the prefix of a proposal. */
function assetField(asset: Field, change: Field): Field {
  const single = "proposal_submission.terms.change";
  const prefix = change.property === single ? single : `${change.property}.${single}`;
  return asset.field("changes").named(`${prefix}.new_asset.changes`);
}

/** Returns the network's name of a transfer's configuration. In a batch, it lacks a point. */
function transferProperty({ property }: Field): string {
  return property.replace("terms.changes.new_transfer", "terms.changesnew_transfer");
}

/** Checks a new asset (`checkNewAssetChanges` in `commands/proposal_submission.go`). */
export function* newAssetProblems(asset: AssetDetails, at: Field): NetworkProblems {
  yield* required(at.field("name"), asset.name);
  yield* required(at.field("symbol"), asset.symbol);
  yield* requiredDecimal(at.field("quantum"), asset.quantum, positiveDecimal);
  const { source } = asset;
  const field = sourceField(at, source.case);
  if (source.case === undefined) {
    yield field.problem(MESSAGE.required);
  } else if (source.case === "builtinAsset") {
    yield* requiredInteger(field.field("maxFaucetAmountMint"), source.value.maxFaucetAmountMint, positiveInteger);
  } else {
    yield* required(field.field("chainId"), source.value.chainId);
    yield* required(field.field("contractAddress"), source.value.contractAddress);
    yield* limitProblems(source.value, field);
  }
}

/** Checks the changes of an asset (`checkUpdateAsset`). */
export function* assetUpdateProblems({ assetId, changes }: UpdateAsset, at: Field): NetworkProblems {
  yield* requiredId(at.field("assetId"), assetId);
  if (changes === undefined) {
    yield at.field("changes").problem(MESSAGE.required);
    return;
  }
  yield* requiredDecimal(at.field("changes").field("quantum"), changes.quantum, positiveDecimal);
  const field = sourceField(at.field("changes"), changes.source.case);
  if (changes.source.case === undefined) {
    yield field.problem(MESSAGE.required);
  } else {
    yield* limitProblems(changes.source.value, field);
  }
}

/** Returns the field of an asset's source, which the network takes for one in another. */
function sourceField(asset: Field, kind: (AssetDetails | AssetDetailsUpdate)["source"]["case"]): Field {
  const source = asset.field("source");
  return kind === undefined ? source : asset.field(kind).named(source.field(kind).property);
}

function* limitProblems(
  limits: { readonly lifetimeLimit: string; readonly withdrawThreshold: string },
  at: Field,
): NetworkProblems {
  for (const name of ["lifetimeLimit", "withdrawThreshold"] as const) {
    yield* requiredInteger(at.field(name), limits[name], positiveInteger);
  }
}

const KINDS = ["maker", "liquidity", "infrastructure"] as const;

/** Checks a referral program (`checkReferralProgramChanges` in `commands/proposal_submission.go`). */
export function* referralProgramProblems(
  changes: ReferralProgramChanges,
  at: Field,
  enactmentTimestamp: bigint,
): NetworkProblems {
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
): NetworkProblems {
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
): NetworkProblems {
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
): NetworkProblems {
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

function* benefitTierProblems(tier: BenefitTier, at: Field): NetworkProblems {
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

function* stakingTierProblems(
  { minimumStakedTokens, referralRewardMultiplier }: StakingTier,
  at: Field,
): NetworkProblems {
  yield* requiredPositiveUint(at.field("minimumStakedTokens"), minimumStakedTokens);
  yield* requiredDecimal(at.field("referralRewardMultiplier"), referralRewardMultiplier, (multiplier) =>
    compare(multiplier, ONE) < 0 ? "must be greater than or equal to 1" : undefined,
  );
}

function* volumeTierProblems(tier: VolumeBenefitTier, at: Field): NetworkProblems {
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

function* rebateTierProblems(tier: VolumeRebateBenefitTier, at: Field): NetworkProblems {
  const fraction = at.field("minimumPartyMakerVolumeFraction");
  yield* requiredDecimal(fraction, tier.minimumPartyMakerVolumeFraction, positiveDecimal);
  yield* requiredDecimal(at.field("additionalMakerRebate"), tier.additionalMakerRebate, positiveOrZero);
}

function* duplicateProblems(keys: readonly string[], at: Field, message: string): NetworkProblems {
  for (const [index, key] of keys.entries()) {
    if (keys.indexOf(key) < index) {
      yield at.item(index).problem(message);
    }
  }
}
