import type { Transfer } from "../../../gen/vega/events/v1/events_pb.js";

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
}

/**
 * Make the registers that a network begins with.
 *
 * @param parameters network parameters by key
 * @returns the registers, empty but for the parameters
 */
export function createRegisters(parameters: ReadonlyMap<string, string> = new Map()): Registers {
  return {
    parameters: new Map(parameters),
    scheduledTransfers: new Map(),
    recurringTransfers: new Map(),
    feeDiscounts: new Map(),
  };
}

/** Copy registers, so that changes to one do not reach the other. */
export function copyRegisters(registers: Registers): Registers {
  return {
    parameters: new Map(registers.parameters),
    scheduledTransfers: new Map(registers.scheduledTransfers),
    recurringTransfers: new Map(registers.recurringTransfers),
    feeDiscounts: new Map(registers.feeDiscounts),
  };
}
