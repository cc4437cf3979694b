import { RequestError } from "../../../errors/index.js";

/**
 * Load DuckDB. Its package is an optional peer.
 *
 * @returns the module `@duckdb/node-api`
 * @throws {@link RequestError} where it is not installed
 */
export function loadDuckdb() {
  return import("@duckdb/node-api").catch((cause: unknown): never => {
    throw new RequestError("the package @duckdb/node-api cannot be loaded, which a sync into DuckDB or Parquet needs", {
      advice: "Install it: npm install @duckdb/node-api",
      cause,
      section: "requesterror-missing-package",
    });
  });
}
