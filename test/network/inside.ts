export type { Event } from "../../src/node/world/block-event.js";
