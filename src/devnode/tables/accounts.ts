import {
  between,
  blockTime,
  column,
  freeText,
  hash,
  later,
  oneOf,
  pick,
  type TableDefinition,
  transaction,
} from "./column.js";
import { account, asset, COUNT, party } from "./entities.js";

const ethereumHash = "'0x' || encode(sha256(convert_to('ethereum:' || n, 'UTF8')), 'hex')";

export const balances: TableDefinition = {
  rowsPerBlock: 2,
  columns: [
    column("account_id", "bytea", account),
    ...transaction,
    column("balance", "numeric", `(${between(0, 900_000_000)})::numeric * 1000000000000`),
  ],
};

export const ledger: TableDefinition = {
  rowsPerBlock: 2,
  columns: [
    column("ledger_entry_time", "timestamptz", `${blockTime} + (i + 1) * interval '1 microsecond'`),
    column("account_from_id", "bytea", account),
    column("account_to_id", "bytea", oneOf("account", COUNT.account, "n + 17")),
    column("quantity", "numeric", between(1, 9_000_000)),
    ...transaction,
    column("transfer_time", "timestamptz", blockTime),
    column("type", "text", pick(["TRANSFER_TYPE_DEPOSIT", "TRANSFER_TYPE_MARGIN_LOW", "TRANSFER_TYPE_MTM_WIN"])),
    column("account_from_balance", "numeric", between(0, 90_000_000)),
    column("account_to_balance", "numeric", between(0, 80_000_000)),
    column("transfer_id", "bytea", `CASE WHEN n % 5 = 0 THEN ${hash("transfer", "n")} END`),
    column("reference", "text", freeText(1)),
  ],
};

export const deposits: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("id", "bytea", hash("deposit", "n")),
    column("status", "text", pick(["STATUS_FINALIZED", "STATUS_OPEN", "STATUS_CANCELLED"])),
    column("party_id", "bytea", party),
    column("asset", "bytea", asset),
    column("amount", "numeric", between(1, 90_000_000)),
    column("foreign_tx_hash", "text", ethereumHash),
    column("credited_timestamp", "timestamptz", `CASE WHEN n % 3 = 0 THEN ${later(12)} END`),
    column("created_timestamp", "timestamptz", blockTime),
    ...transaction,
    column("reference", "text", freeText(4)),
  ],
};

export const withdrawals: TableDefinition = {
  rowsPerBlock: 1,
  columns: [
    column("id", "bytea", hash("withdrawal", "n")),
    column("party_id", "bytea", party),
    column("amount", "numeric", between(1, 80_000_000)),
    column("asset", "bytea", asset),
    column("status", "text", pick(["STATUS_FINALIZED", "STATUS_OPEN", "STATUS_REJECTED"])),
    column("ref", "text", freeText(6)),
    column("foreign_tx_hash", "text", `CASE WHEN n % 3 = 0 THEN ${ethereumHash} ELSE '' END`),
    column("created_timestamp", "timestamptz", blockTime),
    column("withdrawn_timestamp", "timestamptz", `CASE WHEN n % 3 = 0 THEN ${later(60)} END`),
    column(
      "ext",
      "jsonb",
      `jsonb_build_object('erc20', jsonb_build_object('receiverAddress', '0x' || left(md5(n::text), 40)))`,
    ),
    ...transaction,
  ],
};
