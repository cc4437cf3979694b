import { lazily } from "../../base/input/lazy.js";

/** Loads the definitions of all events, and of the services that stream and list records: they are large. */
export const loadDefinitions = lazily(() => import("./event-definitions.js"));
