import {
  type Proposal,
  Proposal_State,
  ProposalError,
  type Vote,
  Vote_Value,
} from "../../../gen/vega/governance_pb.js";
import { parseDecimal } from "./decimal.js";

/** How much of the network's token there is, in units of its last decimal. */
export const TOKEN_SUPPLY: bigint = 65_000_000n * 10n ** 18n;

const DECIMALS = 18;
const ONE = 10n ** BigInt(DECIMALS);
/** How many decimals the network divides to. */
const WEIGHT_DECIMALS = 16;

/** What came of a vote. */
export interface Ballot {
  readonly state: Proposal_State.PASSED | Proposal_State.DECLINED;
  readonly reason: ProposalError;
  /** The votes with their weights, by party. */
  readonly votes: readonly Vote[];
}

/**
 * Count the votes on a proposal by the tokens behind them (`core/governance/proposal.go`, Close). It passes with the majority and
 * the participation that it requires. Nobody has a share of a market's liquidity on the local node, so tokens alone count for
 * updates of markets too.
 *
 * @param proposal what is required
 * @param votes the votes
 * @param stakes what parties have of the network's token
 * @returns what came of it
 */
export function countVotes(
  { requiredMajority, requiredParticipation }: Pick<Proposal, "requiredMajority" | "requiredParticipation">,
  votes: readonly Vote[],
  stakes: ReadonlyMap<string, bigint>,
): Ballot {
  const tokensOf = ({ partyId }: Vote) => stakes.get(partyId) ?? 0n;
  const sum = (some: readonly Vote[]) => some.reduce((total, vote) => total + tokensOf(vote), 0n);
  const [all, yes] = [sum(votes), sum(votes.filter(({ value }) => value === Vote_Value.YES))];
  const weighted = votes
    .map((vote) => ({
      ...vote,
      totalGovernanceTokenBalance: String(tokensOf(vote)),
      totalGovernanceTokenWeight: all === 0n ? "0" : quotient(tokensOf(vote), all),
    }))
    .toSorted((a, b) => (a.partyId < b.partyId ? -1 : 1));
  const takesPart = all > 0n && all * ONE >= TOKEN_SUPPLY * parseDecimal(requiredParticipation, DECIMALS);
  const hasMajority = yes * ONE >= all * parseDecimal(requiredMajority, DECIMALS);
  if (takesPart && hasMajority) {
    return { state: Proposal_State.PASSED, reason: ProposalError.UNSPECIFIED, votes: weighted };
  }
  const { PARTICIPATION_THRESHOLD_NOT_REACHED, MAJORITY_THRESHOLD_NOT_REACHED } = ProposalError;
  const reason = takesPart ? MAJORITY_THRESHOLD_NOT_REACHED : PARTICIPATION_THRESHOLD_NOT_REACHED;
  return { state: Proposal_State.DECLINED, reason, votes: weighted };
}

/** A quotient from 0 to 1 as the network writes it: 16 decimals at most, the last one rounded. */
function quotient(dividend: bigint, divisor: bigint): string {
  const scale = 10n ** BigInt(WEIGHT_DECIMALS);
  const scaled = (2n * dividend * scale + divisor) / (2n * divisor);
  const fraction = String(scaled % scale)
    .padStart(WEIGHT_DECIMALS, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(scaled / scale) : `${scaled / scale}.${fraction}`;
}
