import type { BatchProposalSubmission, ProposalSubmission } from "../../../../gen/vega/commands/v1/commands_pb.js";
import type { BatchProposalTermsChange, ProposalRationale, ProposalTerms } from "../../../../gen/vega/governance_pb.js";
import { assetUpdateProblems, newAssetProblems } from "./asset.js";
import { Field, type NetworkProblem } from "./field.js";
import { governanceTransferProblems, marketStateProblems } from "./governance-transfer.js";
import { marketUpdateProblems, newMarketProblems, newSpotMarketProblems, spotMarketUpdateProblems } from "./market.js";
import { referralProgramProblems, volumeDiscountProblems, volumeRebateProblems } from "./programs.js";
import { atMostBytes, byteLength, MESSAGE, required } from "./rules.js";

type Problems = Generator<NetworkProblem>;

/** What is proposed, alone or in a batch. */
type Change = Extract<(ProposalTerms | BatchProposalTermsChange)["change"], { readonly case: string }>;

/** Checks a proposal (`commands/proposal_submission.go`). */
export function* proposalProblems({ reference, rationale, terms }: ProposalSubmission, at: Field): Problems {
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
export function* batchProposalProblems({ reference, rationale, terms }: BatchProposalSubmission, at: Field): Problems {
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

function* rationaleProblems(rationale: ProposalRationale | undefined, at: Field): Problems {
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

function* timeProblems(terms: ProposalTerms, at: Field): Problems {
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
): Problems {
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
function* changeProblems(change: Change, at: Field, enactmentTimestamp: bigint): Problems {
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
): Problems {
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

/** Returns the field of a new asset's details. In a batch, the network's name of it has the prefix of a proposal, too. */
function assetField(asset: Field, change: Field): Field {
  const single = "proposal_submission.terms.change";
  const prefix = change.property === single ? single : `${change.property}.${single}`;
  return asset.field("changes").named(`${prefix}.new_asset.changes`);
}

/** Returns the network's name of a transfer's configuration. In a batch, it lacks a point. */
function transferProperty({ property }: Field): string {
  return property.replace("terms.changes.new_transfer", "terms.changesnew_transfer");
}
