export { validatorIds } from "../../src/devnode/generated-history/generated-network.js";
export type { Event } from "../../src/devnode/world/block-event.js";
