import type { AssetDetails, AssetDetailsUpdate } from "../../../../gen/vega/assets_pb.js";
import type { UpdateAsset } from "../../../../gen/vega/governance_pb.js";
import type { Field, NetworkProblem } from "./field.js";
import {
  MESSAGE,
  positiveDecimal,
  positiveInteger,
  required,
  requiredDecimal,
  requiredId,
  requiredInteger,
} from "./rules.js";

type Problems = Generator<NetworkProblem>;

/** Checks a new asset (`checkNewAssetChanges` in `commands/proposal_submission.go`). */
export function* newAssetProblems(asset: AssetDetails, at: Field): Problems {
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
export function* assetUpdateProblems({ assetId, changes }: UpdateAsset, at: Field): Problems {
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
): Problems {
  for (const name of ["lifetimeLimit", "withdrawThreshold"] as const) {
    yield* requiredInteger(at.field(name), limits[name], positiveInteger);
  }
}
