import type { DataSourceSpec } from "../../../gen/vega/data_source_pb.js";
import type { AMM, PartyMarginModeUpdated, Transfer } from "../../../gen/vega/events/v1/events_pb.js";
import type { Proposal, ProposalParameters, Vote } from "../../../gen/vega/governance_pb.js";
import type { LiquidityProvision, PartyProfile, Withdrawal } from "../../../gen/vega/vega_pb.js";

/** A team of parties. */
export interface Team {
  readonly id: string;
  readonly referrer: string;
  readonly name: string;
  readonly teamUrl: string;
  readonly avatarUrl: string;
  readonly closed: boolean;
  readonly allowList: readonly string[];
}

/** A proposal that is not decided, or not enacted yet. */
export interface ActiveProposal {
  readonly proposal: Proposal;
  /** The proposals of a batch; none of a single one. */
  readonly members: readonly Proposal[];
  readonly rules: ProposalParameters;
  /** The latest vote of each party. */
  readonly votes: readonly Vote[];
}

/**
 * What commands leave behind that is neither a market nor an account. The maps change, and their values do not: a change
 * puts a new value in.
 */
export interface Registers {
  /** Network parameters by key. */
  readonly parameters: Map<string, string>;
  /** One-off transfers that are paid and not delivered yet, by identifier, in the order in which they came. */
  readonly scheduledTransfers: Map<string, Transfer>;
  /** Recurring transfers that are pending, by identifier, in the order in which they came. */
  readonly recurringTransfers: Map<string, Transfer>;
  /** The discounts on transfer fees that parties have left, by `PARTY ASSET`, in units of the asset's last decimal. */
  readonly feeDiscounts: Map<string, bigint>;
  /** What parties have of the network's token, which gives votes their weight, in units of its last decimal. */
  readonly stakes: Map<string, bigint>;
  /** By identifier, in the order in which they came. */
  readonly proposals: Map<string, ActiveProposal>;
  /** When opening auctions that governance began can end, by market, in Unix nanoseconds. */
  readonly openingAuctions: Map<string, bigint>;
  /** The data sources that markets wait for, by identifier. */
  readonly dataSources: Map<string, DataSourceSpec>;
  /** Who made each referral set, by the set. */
  readonly referralSets: Map<string, string>;
  /** The referral set that each referee is in, by party. */
  readonly referees: Map<string, string>;
  /** By identifier. */
  readonly teams: Map<string, Team>;
  /** The team that each party is in, by party; who made a team is in it. */
  readonly teamMembers: Map<string, string>;
  /** The team that a member of another one goes to with the next epoch, by party. */
  readonly teamSwitches: Map<string, string>;
  /** By party. */
  readonly profiles: Map<string, PartyProfile>;
  /** What is delegated in this epoch, by `PARTY NODE`. */
  readonly delegations: Map<string, bigint>;
  /** What is delegated from the next epoch on, by `PARTY NODE`. */
  readonly nextDelegations: Map<string, bigint>;
  /** By identifier, in the order in which they came. */
  readonly withdrawals: Map<string, Withdrawal>;
  /** Commitments of liquidity, by `PARTY MARKET`. */
  readonly provisions: Map<string, LiquidityProvision>;
  /** Automated market makers that are not cancelled, by `PARTY MARKET`. */
  readonly amms: Map<string, AMM>;
  /** The margin modes that parties chose, by `PARTY MARKET`. */
  readonly marginModes: Map<string, PartyMarginModeUpdated>;
}

/**
 * Make the registers that a network begins with.
 *
 * @param parameters network parameters by key
 * @param stakes what parties have of the network's token
 * @returns the registers, empty but for these
 */
export function createRegisters(
  parameters: ReadonlyMap<string, string> = new Map(),
  stakes: ReadonlyMap<string, bigint> = new Map(),
): Registers {
  return {
    parameters: new Map(parameters),
    stakes: new Map(stakes),
    proposals: new Map(),
    openingAuctions: new Map(),
    dataSources: new Map(),
    referralSets: new Map(),
    referees: new Map(),
    teams: new Map(),
    teamMembers: new Map(),
    teamSwitches: new Map(),
    profiles: new Map(),
    delegations: new Map(),
    nextDelegations: new Map(),
    withdrawals: new Map(),
    provisions: new Map(),
    amms: new Map(),
    marginModes: new Map(),
    scheduledTransfers: new Map(),
    recurringTransfers: new Map(),
    feeDiscounts: new Map(),
  };
}

/** Copy registers, so that changes to one do not reach the other. */
export function copyRegisters(registers: Registers): Registers {
  return {
    parameters: new Map(registers.parameters),
    stakes: new Map(registers.stakes),
    proposals: new Map(registers.proposals),
    openingAuctions: new Map(registers.openingAuctions),
    dataSources: new Map(registers.dataSources),
    referralSets: new Map(registers.referralSets),
    referees: new Map(registers.referees),
    teams: new Map(registers.teams),
    teamMembers: new Map(registers.teamMembers),
    teamSwitches: new Map(registers.teamSwitches),
    profiles: new Map(registers.profiles),
    delegations: new Map(registers.delegations),
    nextDelegations: new Map(registers.nextDelegations),
    withdrawals: new Map(registers.withdrawals),
    provisions: new Map(registers.provisions),
    amms: new Map(registers.amms),
    marginModes: new Map(registers.marginModes),
    scheduledTransfers: new Map(registers.scheduledTransfers),
    recurringTransfers: new Map(registers.recurringTransfers),
    feeDiscounts: new Map(registers.feeDiscounts),
  };
}
