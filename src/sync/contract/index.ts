/**
 * The requirements of sinks, as test cases for any test runner.
 *
 * @module tradewire/sync/contract
 */

import { concurrencyCases } from "./concurrency-cases.js";
import type { SinkCase } from "./contract-fixtures.js";
import { coverageCases, replacingCases } from "./ledger-cases.js";
import { loadingCases, openingCases } from "./loading-cases.js";
import { schemaCases } from "./value-cases.js";

export type { ReadRow, SinkCase, SinkHost } from "./contract-fixtures.js";

/**
 * The test cases that every sink must pass. Each case gets a new location; it throws an `AssertionError` if the sink fails.
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
  ...concurrencyCases,
  ...coverageCases,
];
