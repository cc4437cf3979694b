import type { DataSourceSpec } from "../../../gen/vega/data_source_pb.js";
import type { Transfer } from "../../../gen/vega/events/v1/events_pb.js";
import type { Proposal, ProposalParameters, Vote } from "../../../gen/vega/governance_pb.js";

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
    scheduledTransfers: new Map(registers.scheduledTransfers),
    recurringTransfers: new Map(registers.recurringTransfers),
    feeDiscounts: new Map(registers.feeDiscounts),
  };
}
