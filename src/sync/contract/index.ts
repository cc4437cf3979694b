/**
 * What every sink promises, to be tried in any test runner.
 *
 * @module tradewire/sync/contract
 */

import { endingCases } from "./ending.js";
import type { SinkCase } from "./host.js";
import { loadingCases } from "./loading.js";
import { openingCases } from "./opening.js";
import { replacingCases } from "./replacing.js";
import { schemaCases } from "./schema.js";
import { surveyingCases } from "./surveying.js";

export type { ReadRow, SinkCase, SinkHost } from "./host.js";

/**
 * What every sink promises. Each case gets a new place; an `AssertionError` says which promise is broken.
 *
 * @example
 * for (const { name, run } of sinkContract) {
 *   test(name, async () => {
 *     const place = await newPlace();
 *     await run({ makeSink: () => mySink(place), readRows: (table) => readMyTable(place, table) });
 *   });
 * }
 */
export const sinkContract: readonly SinkCase[] = [
  ...openingCases,
  ...loadingCases,
  ...schemaCases,
  ...replacingCases,
  ...endingCases,
  ...surveyingCases,
];
