import { givenName } from "../file/given-name.js";
import type { CheckedLedgerRequest } from "./request.js";

/** The form of a name: what could steer a terminal, or lead to another folder, does not fit it. */
const FORM = /^ledger_entries_[0-9a-f]{64}[\w.+-]*\.csv$/i;
const MAX_NAME = 255;

/**
 * Make the name of an export's file, as deployed nodes do.
 *
 * @param request the party, the asset and the span of time, in Unix nanoseconds
 * @returns the file name, such as `ledger_entries_PARTY__2024-01-01T00_00_00Z-2025-01-01T00_00_00Z.csv`
 */
export function ledgerFileName({ partyId, assetId, dateRange = {} }: CheckedLedgerRequest): string {
  const { startTimestamp, endTimestamp } = dateRange;
  const asset = assetId === undefined ? "" : `_${assetId}`;
  const start = startTimestamp === undefined ? "" : `_${seconds(startTimestamp)}`;
  const end = endTimestamp === undefined ? "" : `-${seconds(endTimestamp)}`;
  return `ledger_entries_${partyId}${asset}_${start}${end}.csv`;
}

/**
 * Choose the name under which an export is saved: the node's, where that has its form and is of the same party and
 * asset.
 *
 * @param header the response header
 * @param request the party, the asset and the span of time, in Unix nanoseconds
 * @returns a safe file name
 */
export function ledgerFileNameFor(header: Headers, request: CheckedLedgerRequest): string {
  const given = givenName(header) ?? "";
  const { partyId, assetId = "" } = request;
  const fits = FORM.test(given) && given.length <= MAX_NAME && given.startsWith(`ledger_entries_${partyId}`);
  return fits && given.includes(assetId) ? given : ledgerFileName(request);
}

/** A time in whole seconds, as ISO 8601 without colons; as digits where it is out of the range of `Date`. */
function seconds(nanoseconds: bigint): string {
  const date = new Date(Number(nanoseconds / 1_000_000n));
  return Number.isNaN(date.getTime())
    ? String(nanoseconds)
    : `${date.toISOString().slice(0, -5).replaceAll(":", "_")}Z`;
}
