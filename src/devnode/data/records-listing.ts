import type { Recorded } from "../world/records.js";
import { keyPart, type Listing, sortedListing, timePart } from "./listing.js";

/**
 * List records by the time of the block that changed each one last.
 *
 * @param records the records, by what tells them apart
 * @param matches whether a record is listed; all are by default
 * @returns the listing
 */
export function recordListing<T>(
  records: ReadonlyMap<string, Recorded<T>>,
  matches: (value: T) => boolean = () => true,
): Listing<Recorded<T>> {
  const found = [...records].filter(([, { value }]) => matches(value));
  const listing = sortedListing(found, [keyPart.time, keyPart.text], ([key, { block }]) => [timePart(block.time), key]);
  return {
    keyParts: listing.keyParts,
    *read(descending, from) {
      for (const { key, value } of listing.read(descending, from)) {
        yield { key, value: value[1] };
      }
    },
  };
}

/** Whether what a filter asks for is so: it asks for nothing where it is not set, or empty. */
export function isWanted<T>(wanted: T | undefined, value: T): boolean {
  return wanted === undefined || wanted === "" || wanted === value;
}
