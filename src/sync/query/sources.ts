export { archivesSource } from "./archives-source.js";
export { duckdbSource, type FileSourceOptions, parquetSource } from "./duckdb-sources.js";
export { estimateStatement, type NodeSourceOptions, nodeSource } from "./node-source.js";
export { postgresSource } from "./postgres-source.js";
export type { QueryDatabase, QueryRows, QuerySource } from "./query-database.js";
