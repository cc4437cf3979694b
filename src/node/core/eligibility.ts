import type { BatchMarketInstructions, Transfer } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { type Market, Market_State } from "../../../gen/vega/markets_pb.js";
import { type Account, AccountType } from "../../../gen/vega/vega_pb.js";
import { transferFee } from "../engine/banking.js";
import { accountId, generalAccount } from "../engine/collateral.js";
import { ONE, parseFixedPoint } from "../engine/fixed-point.js";
import { settlementAsset } from "../engine/initial-state.js";
import type { World } from "../world/world.js";

/** The state against which submitted commands are checked. */
export interface EligibilityOptions {
  readonly world: Pick<World, "accounts" | "assets" | "markets" | "parameters">;
  /** Returns whether a party will get a general account with the starting balance when the engine first needs one. */
  readonly isFunded: (party: string) => boolean;
}

const NOT_SENT_BY_VALIDATOR = "node signature not sent by validator";
const NOT_SIGNED_BY_MASTER_KEY = "node signature not signed with validator master key";

/**
 * Returns why a command cannot be executed now (handlers of `HandleCheckTx` in `core/processor/abci.go`). The network
 * checks this on submission. Rules that it checks only during execution are not checked here.
 */
export function eligibilityProblem(
  command: InputData["command"],
  party: string,
  options: EligibilityOptions,
): string | undefined {
  switch (command.case) {
    case "orderSubmission":
    case "orderAmendment":
    case "orderCancellation":
      return tradingProblem(party, command.value.marketId, options);
    case "batchMarketInstructions":
      return batchProblem(command.value, party, options);
    case "transfer":
      return transferProblem(command.value, party, options);
    case "proposalSubmission": {
      const change = command.value.terms?.change;
      const key = change?.case === "updateNetworkParameter" ? change.value.changes?.key : undefined;
      return key === undefined || options.world.parameters.has(key) ? undefined : "unknown key";
    }
    case "keyRotateSubmission":
      return NOT_SIGNED_BY_MASTER_KEY;
    case "nodeVote":
    case "nodeSignature":
    case "chainEvent":
    case "validatorHeartbeat":
    case "stateVariableProposal":
    case "ethereumKeyRotateSubmission":
    case "protocolUpgradeProposal":
      return NOT_SENT_BY_VALIDATOR;
    default:
      return undefined;
  }
}

/** Markets in these states are no longer in the network's state. */
const ENDED: readonly Market_State[] = [
  Market_State.SETTLED,
  Market_State.CLOSED,
  Market_State.CANCELLED,
  Market_State.REJECTED,
];

/** `CheckCanSubmitOrderOrLiquidityCommitment` in `core/execution/engine.go`. An empty market means all markets. */
function tradingProblem(party: string, marketId: string, options: EligibilityOptions): string | undefined {
  const { world, isFunded } = options;
  if (marketId === "") {
    return isFunded(party) || accountsOf(party, options).length > 0
      ? undefined
      : `party ${party} is not eligible to submit order transaction with no market in scope`;
  }
  const market = world.markets.get(marketId);
  if (market === undefined || ENDED.includes(market.state)) {
    return "market does not exist";
  }
  const why = balanceProblem(party, market, options);
  return why && `party ${party} is not eligible to submit order transactions in market ${marketId} (${why})`;
}

/** `CheckOrderSpam` in `core/collateral/engine.go`. */
function balanceProblem(party: string, market: Market, options: EligibilityOptions): string | undefined {
  const general = options.world.accounts.get(accountId(generalAccount(party, settlementAsset(market))));
  if (general === undefined ? options.isFunded(party) : general.balance !== "0") {
    return undefined;
  }
  const accounts = accountsOf(party, options);
  if (accounts.length === 0) {
    return "no general account in no asset";
  }
  if (general === undefined) {
    return "no general account found";
  }
  return accounts.some(({ marketId, balance }) => marketId === market.id && balance !== "0")
    ? undefined
    : "no general account balance in asset and no market accounts found";
}

function accountsOf(party: string, { world }: EligibilityOptions): readonly Account[] {
  return [...world.accounts.values()].filter(({ owner }) => owner === party);
}

/** `CheckBatchMarketInstructions` in `core/processor/abci.go`. It does not check cancellations and stop orders. */
function batchProblem(batch: BatchMarketInstructions, party: string, options: EligibilityOptions): string | undefined {
  const { cancellations, amendments, submissions, stopOrdersSubmission, stopOrdersCancellation } = batch;
  const parts = [cancellations, amendments, submissions, stopOrdersSubmission, stopOrdersCancellation];
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const maxSize = Number(options.world.parameters.get("spam.protection.max.batchSize"));
  if (size > maxSize) {
    return `market batch instructions too big, got(${size}), expected(${maxSize})`;
  }
  for (const { marketId } of [...submissions, ...amendments]) {
    const problem = tradingProblem(party, marketId, options);
    if (problem !== undefined) {
      return problem;
    }
  }
  return undefined;
}

/** `CheckTransfer` in `core/banking/transfers_common.go`. */
function transferProblem(transfer: Transfer, party: string, options: EligibilityOptions): string | undefined {
  const { world, isFunded } = options;
  const id = transfer.asset.toLowerCase();
  const asset = world.assets.get(id);
  if (asset === undefined) {
    return "could not transfer funds, asset does not exist";
  }
  const { fromAccountType, amount: text } = transfer;
  const amount = BigInt(text);
  const quantum = asset.details?.quantum ?? "1";
  const multiple = parseFixedPoint(world.parameters.get("transfer.minTransferQuantumMultiple") ?? "0");
  const isFromVested = fromAccountType === AccountType.VESTED_REWARDS;
  if (amount * ONE < BigInt(quantum) * multiple && !isFromVested) {
    return "could not transfer funds, less than minimal amount requested to transfer";
  }
  const owner = transfer.from ?? party;
  const account = world.accounts.get(accountId({ owner, asset: id, marketId: "", type: fromAccountType }));
  if (account === undefined) {
    // The network names an account by its market (`!` for none), owner, asset and type number.
    return fromAccountType === AccountType.GENERAL && isFunded(party)
      ? undefined
      : `could not transfer funds, account does not exist: !${owner}${id}${fromAccountType}`;
  }
  const { parameters } = world;
  const isFromDerivedKey = transfer.from !== undefined;
  const fee = transferFee({
    ...{ parameters, quantum, amount, from: party, fromAccountType, to: transfer.to, isFromDerivedKey },
  });
  return BigInt(account.balance) < amount + fee ? "could not transfer funds, not enough funds to transfer" : undefined;
}
