export { temporaryName } from "../../../src/base/file/temporary-files.js";
export { createWriteGate } from "../../../src/sync/sinks/duckdb/duckdb-file.js";
export { duckdbError, withConnection } from "../../../src/sync/sinks/duckdb/duckdb-package.js";
export { manifestOf } from "../../../src/sync/sinks/parquet/manifest.js";
export { layoutOf } from "../../../src/sync/sinks/parquet/parquet-folder.js";
export { applyChange, claimUnit } from "../../../src/sync/sinks/parquet/pending-changes.js";
