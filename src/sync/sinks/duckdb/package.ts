import { RequestError } from "../../../errors/index.js";

/** The oldest version of DuckDB whose types and settings the sinks use. */
const MIN_VERSION = [1, 5] as const;

/**
 * Loads DuckDB. Its package is an optional peer whose range in package.json is `*`: every release of it is a prerelease in
 * the sense of semver, such as `1.5.6-r.1`, which no range of versions matches beyond the patch that it names. The version is
 * therefore checked here.
 *
 * @returns the module `@duckdb/node-api`
 * @throws {@link RequestError} when the package is not installed, or holds a DuckDB before 1.5
 */
export async function loadDuckdb() {
  const duckdb = await import("@duckdb/node-api").catch((cause: unknown): never => {
    throw new RequestError("the package @duckdb/node-api cannot be loaded, which a sync into DuckDB or Parquet needs", {
      advice: "Install it: npm install @duckdb/node-api",
      cause,
      section: "requesterror-missing-package",
    });
  });
  const version = duckdb.version();
  const [major = 0, minor = 0] = version.replace(/^v/u, "").split(".").map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw new RequestError(
      `the package @duckdb/node-api holds DuckDB ${version}, but ${MIN_VERSION.join(".")} or later is needed`,
      {
        advice: "Install a newer one: npm install @duckdb/node-api@latest",
        section: "requesterror-missing-package",
      },
    );
  }
  return duckdb;
}
