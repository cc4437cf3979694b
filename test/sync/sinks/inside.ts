export { temporaryName } from "../../../src/file/temporary.js";
export { duckdbError } from "../../../src/sync/sinks/duckdb/errors.js";
export { createGate } from "../../../src/sync/sinks/duckdb/gate.js";
export { applyChange } from "../../../src/sync/sinks/parquet/apply-change.js";
export { layoutOf } from "../../../src/sync/sinks/parquet/layout.js";
export { manifestOf } from "../../../src/sync/sinks/parquet/manifest.js";
export { holdUnit } from "../../../src/sync/sinks/parquet/pending.js";
