export { archivesSource } from "./archives-source.js";
export { duckdbSource, parquetSource } from "./duckdb-sources.js";
export { nodeSource } from "./node-source.js";
export { postgresSource } from "./postgres-source.js";
export type { QueryDatabase, QueryRows, QuerySource } from "./query-database.js";
