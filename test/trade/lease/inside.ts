export { forgetUnsent, noteSigned } from "../../../src/trade/lease/lease-results.js";
export { createLeaseState, type LeaseState } from "../../../src/trade/lease/lease-state.js";
export type { LeaseBatch } from "../../../src/trade/lease/renewal-plan.js";
