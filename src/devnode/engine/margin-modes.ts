import { create } from "@bufbuild/protobuf";
import { type UpdateMarginMode, UpdateMarginMode_Mode } from "../../../gen/vega/commands/v1/commands_pb.js";
import { PartyMarginModeUpdatedSchema } from "../../../gen/vega/events/v1/events_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { AccountType, MarginMode } from "../../../gen/vega/vega_pb.js";
import { epochOf } from "../data/epochs.js";
import { openAccount } from "./funds.js";
import { openGeneralAccount } from "./ledger.js";
import type { Work } from "./state.js";

/**
 * Choose how margin is held on a market (`core/execution/future/isolated_margin.go`). The local node keeps the mode as a state:
 * it computes margin the same way in both.
 *
 * @param work the block
 * @param partyId the party
 * @param command the mode
 * @returns why nothing was changed, if so
 */
export function updateMarginMode(work: Work, partyId: string, command: UpdateMarginMode): string | undefined {
  const { state, block, emit } = work;
  const market = state.markets.get(command.marketId.toLowerCase());
  if (market === undefined) {
    return "OrderError: Invalid Market ID";
  }
  const { id: marketId } = market.market;
  const isIsolated = command.mode === UpdateMarginMode_Mode.ISOLATED_MARGIN;
  const problem = isIsolated ? factorProblem(market.market, command.marginFactor ?? "0") : undefined;
  if (problem !== undefined) {
    return problem;
  }
  openGeneralAccount(work, partyId, market.asset);
  for (const type of isIsolated ? [AccountType.MARGIN, AccountType.ORDER_MARGIN] : [AccountType.MARGIN]) {
    openAccount(work, { owner: partyId, asset: market.asset, marketId, type });
  }
  const value = create(PartyMarginModeUpdatedSchema, {
    ...{ marketId, partyId, atEpoch: epochOf(block.height) },
    marginMode: isIsolated ? MarginMode.ISOLATED_MARGIN : MarginMode.CROSS_MARGIN,
    ...(isIsolated && command.marginFactor !== undefined && { marginFactor: command.marginFactor }),
  });
  state.registers.marginModes.set(`${partyId} ${marketId}`, value);
  emit({ case: "partyMarginModeUpdated", value });
  return undefined;
}

/** Why a margin factor is too low for a market. Of markets with the log-normal model, no risk factors are known. */
function factorProblem({ tradableInstrument, linearSlippageFactor }: Market, factor: string): string | undefined {
  const model = tradableInstrument?.riskModel;
  const params = model?.case === "simpleRiskModel" ? model.value.params : undefined;
  if (
    params === undefined ||
    Number(factor) > Math.max(params.factorLong, params.factorShort) + Number(linearSlippageFactor)
  ) {
    return undefined;
  }
  const risk = `max(riskFactorLong (${params.factorLong}), riskFactorShort (${params.factorShort}))`;
  return `margin factor (${factor}) must be greater than ${risk} + linearSlippageFactor (${linearSlippageFactor})`;
}
