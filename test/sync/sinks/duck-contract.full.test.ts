// The values of all tables, and all promises over Parquet; the quick tier tries some.
import "./duck-contract.test.js";
