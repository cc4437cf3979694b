import { between, blockTime, column, hash, oneOf, sequence, type TableDefinition, transaction } from "./column.js";
import { EPOCH_BLOCKS, party } from "./entities.js";

export const blocks: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("vega_time", "timestamptz", blockTime),
    column("height", "bigint", "h"),
    column("hash", "bytea", hash("block", "h")),
  ],
};

export const checkpoints: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("hash", "text", "encode(sha256(convert_to('checkpoint:' || n, 'UTF8')), 'hex')"),
    column("block_hash", "text", "encode(sha256(convert_to('block:' || h, 'UTF8')), 'hex')"),
    column("block_height", "bigint", "h"),
    ...transaction,
    sequence,
  ],
};

export const delegations: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("party_id", "bytea", party),
    column("node_id", "bytea", oneOf("node", 13)),
    column("epoch_id", "bigint", `h / ${EPOCH_BLOCKS}`),
    column("amount", "numeric", `(${between(1, 90_000)})::numeric * 1000000000000000000`),
    ...transaction,
    sequence,
  ],
};
