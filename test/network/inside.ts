export type { Event } from "../../src/devnode/world/block-event.js";
