export { validatorIds } from "../../src/devnode/made-up/network.js";
export type { Event } from "../../src/devnode/world/event.js";
