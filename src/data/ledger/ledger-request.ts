import { contentDispositionName } from "../../base/file/given-name.js";
import { assertKnownKeys, invalidValueError } from "../../base/input/assert.js";
import { type DateRange, readDateRange } from "../listing/listing-filters.js";

/** Which entries of the ledger to export. */
export interface LedgerRequest {
  /** The party of the entries: its public key, 64 hex digits. */
  readonly partyId: string;
  /** Only entries of this asset: its identifier, 64 hex digits. All assets by default. */
  readonly assetId?: string | undefined;
  /** Only entries of this period; all by default. Deployed nodes round down to seconds. */
  readonly dateRange?: DateRange | undefined;
}

/** A valid request, with times in Unix nanoseconds. */
export interface CheckedLedgerRequest {
  readonly partyId: string;
  readonly assetId?: string;
  readonly dateRange?: { readonly startTimestamp?: bigint; readonly endTimestamp?: bigint };
}

/**
 * Validates the request for a ledger export, as far as possible without the node.
 *
 * @throws {@link RequestError} if an identifier has another form, a time is invalid, or the period is empty
 */
export function readLedgerRequest(request: LedgerRequest): CheckedLedgerRequest {
  assertKnownKeys("request", request, { partyId: true, assetId: true, dateRange: true });
  const { partyId, assetId, dateRange = {} } = request;
  const { startTimestamp, endTimestamp } = readDateRange(dateRange);
  const range = {
    ...(startTimestamp !== undefined && { startTimestamp }),
    ...(endTimestamp !== undefined && { endTimestamp }),
  };
  return {
    partyId: identifier(partyId, "partyId"),
    ...(assetId !== undefined && { assetId: identifier(assetId, "assetId") }),
    ...(Object.keys(range).length > 0 && { dateRange: range }),
  };
}

function identifier(text: string, name: string): string {
  if (typeof text !== "string" || !/^[0-9a-f]{64}$/i.test(text)) {
    throw invalidValueError(name, text, "64 hex digits");
  }
  return text;
}

/** The form of a name. It excludes control characters and path separators. */
const FORM = /^ledger_entries_[0-9a-f]{64}[\w.+-]*\.csv$/i;
const MAX_NAME = 255;

/** Returns the file name of an export in the form that deployed nodes use. */
export function ledgerFileName({ partyId, assetId, dateRange = {} }: CheckedLedgerRequest): string {
  const { startTimestamp, endTimestamp } = dateRange;
  const asset = assetId === undefined ? "" : `_${assetId}`;
  const start = startTimestamp === undefined ? "" : `_${seconds(startTimestamp)}`;
  const end = endTimestamp === undefined ? "" : `-${seconds(endTimestamp)}`;
  return `ledger_entries_${partyId}${asset}_${start}${end}.csv`;
}

/** Chooses the file name of an export: the node's name, if it has the expected form and the same party and asset. */
export function ledgerFileNameFor(header: Headers, request: CheckedLedgerRequest): string {
  const given = contentDispositionName(header) ?? "";
  const { partyId, assetId = "" } = request;
  const fits = FORM.test(given) && given.length <= MAX_NAME && given.startsWith(`ledger_entries_${partyId}`);
  return fits && given.includes(assetId) ? given : ledgerFileName(request);
}

/** Formats a time to the second, as ISO 8601 without colons; as digits if it is outside the range of `Date`. */
function seconds(nanoseconds: bigint): string {
  const date = new Date(Number(nanoseconds / 1_000_000n));
  return Number.isNaN(date.getTime())
    ? String(nanoseconds)
    : `${date.toISOString().slice(0, -5).replaceAll(":", "_")}Z`;
}
