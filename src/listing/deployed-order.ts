import type { DescMethod } from "@bufbuild/protobuf";
import { RequestError } from "../errors/index.js";
import type { PaginationRequest } from "./pagination.js";

/** Listings that v0.78.0 gives forwards and newest first only: it answers INVALID_ARGUMENT or INTERNAL to others. */
const NEWEST_FIRST_ONLY = ["ListOrders", "ListStopOrders"].map((name) => `datanode.api.v2.TradingDataService.${name}`);

/**
 * Requires that deployed nodes give a listing in the order that is asked for.
 *
 * @param method the method of the listing
 * @param pagination which page is asked for
 * @throws {@link RequestError} if they refuse it
 */
export function requireDeployedOrder(
  { name, parent }: DescMethod,
  { first, last, before, newestFirst }: PaginationRequest,
): void {
  if (!NEWEST_FIRST_ONLY.includes(`${parent.typeName}.${name}`)) {
    return;
  }
  if (last !== undefined || (first === undefined && before !== undefined)) {
    throw new RequestError(
      `pagination.${last === undefined ? "before" : "last"} is given, which deployed nodes refuse for ${name}`,
      {
        advice: "Page forwards, with first and after; nothing was sent.",
      },
    );
  }
  if (newestFirst === false) {
    throw new RequestError(`newestFirst is false, and deployed nodes list the newest first only for ${name}`, {
      advice: "Leave it out, and reverse the records; nothing was sent.",
    });
  }
}
