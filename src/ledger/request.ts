import { requireKnown } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { type DateRange, readDateRange } from "../listing/date-range.js";

/** Which entries of the ledger to export. */
export interface LedgerRequest {
  /** The party that the entries are of: its public key, 64 hex digits. */
  readonly partyId: string;
  /** Only those of this asset: its identifier, 64 hex digits. All assets by default. */
  readonly assetId?: string | undefined;
  /** Only those of this span of time; all by default. Deployed nodes take whole seconds: they drop the rest. */
  readonly dateRange?: DateRange | undefined;
}

/** A request that was checked, with its times in Unix nanoseconds. */
export interface CheckedLedgerRequest {
  readonly partyId: string;
  readonly assetId?: string;
  readonly dateRange?: { readonly startTimestamp?: bigint; readonly endTimestamp?: bigint };
}

/**
 * Check the request for an export of the ledger, as far as that can be done without the node.
 *
 * @param request the party, the asset and the span of time
 * @returns the message of the interface
 * @throws {@link RequestError} where an identifier has another form, a time is invalid, or the span is empty
 */
export function readLedgerRequest(request: LedgerRequest): CheckedLedgerRequest {
  requireKnown("request", request, { partyId: true, assetId: true, dateRange: true });
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
    throw new RequestError(
      `${name} is ${typeof text === "string" ? quoted(text) : String(text)}, which is no identifier`,
      {
        advice: "Give the 64 hex digits that the network knows it by.",
      },
    );
  }
  return text;
}
