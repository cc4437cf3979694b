import type { Fields } from "../tables/index.js";
import { timeText } from "../tables/time.js";

/** An entry of the ledger, as the export of a party's ledger tells it. */
export interface LedgerEntryRecord {
  /** The entry's own time, in Unix nanoseconds. */
  readonly time: bigint;
  /** The time of its block, as PostgreSQL writes it. */
  readonly vegaTime: string;
  readonly quantity: string;
  readonly type: string;
  readonly assetId: string;
  readonly from: LedgerAccount;
  readonly to: LedgerAccount;
}

/** An account of an entry. */
export interface LedgerAccount {
  /** 64 hex digits, or `network`. */
  readonly owner: string;
  /** Empty where the account is of no market. */
  readonly marketId: string;
  /** Such as `GENERAL`. */
  readonly type: string;
  /** What was in it after the entry. */
  readonly balance: string;
}

/**
 * Make the record of a row of the ledger.
 *
 * @param row what was said for the row
 * @returns the record
 */
export function entryOf(row: Fields): LedgerEntryRecord {
  const text = (name: string) => String(row[name] ?? "");
  const account = (side: "from" | "to"): LedgerAccount => ({
    owner: text(`account_${side}_party_id`),
    marketId: text(`account_${side}_market_id`),
    type: text(`account_${side}_account_type`),
    balance: text(`account_${side}_balance`) || "0",
  });
  return {
    time: BigInt(text("ledger_entry_time")),
    vegaTime: timeText(BigInt(text("vega_time"))),
    quantity: text("quantity") || "0",
    type: text("type"),
    assetId: text("asset_id"),
    from: account("from"),
    to: account("to"),
  };
}

/** Write a row of the ledger as a line of JSON, from which {@link readEntry} makes its record. */
export function entryLine(row: Fields): string {
  const { time, ...entry } = entryOf(row);
  return `${JSON.stringify({ ...entry, time: String(time) })}\n`;
}

/** Read a line that {@link entryLine} wrote. */
export function readEntry(line: string): LedgerEntryRecord {
  const entry: Omit<LedgerEntryRecord, "time"> & { readonly time: string } = JSON.parse(line);
  return { ...entry, time: BigInt(entry.time) };
}
