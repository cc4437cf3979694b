import { lazily } from "../../base/input/lazy.js";

/** Loads what reads archives. */
export const loadZip = lazily(async () => {
  const [entries, records] = await Promise.all([import("./zip-entries.js"), import("./zip-records.js")]);
  return { ...entries, ...records };
});
