import { requireKnown, requireOneOf } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";

/** The most records of a page; deployed nodes refuse more. */
export const MAX_PAGE_SIZE = 5000;

/** Which page of a listing to get (specification, 2.1): the first records after a cursor, or the last before one. */
export interface PaginationRequest {
  /** How many records, 1 to 5000, counted from `after` or else from the start of the listing. */
  readonly first?: number | undefined;
  /** The cursor of the previous page's last record. */
  readonly after?: string | undefined;
  /**
   * How many records, 1 to 5000, counted back from `before` or else from the end. Deployed nodes refuse it for stop
   * orders; with the profile `deployed` it is not sent for them.
   */
  readonly last?: number | undefined;
  /** The cursor of the next page's first record. */
  readonly before?: string | undefined;
  /** Whether the newest records come first, as they do by default. As `last`, `false` is refused for stop orders. */
  readonly newestFirst?: boolean | undefined;
}

/**
 * Check the request for a page, as far as that can be done without the node (specification, 2.1).
 *
 * @param request which page to get
 * @returns the same request
 * @throws {@link RequestError} where both directions are asked for, a number of records is not 1 to 5000, or a cursor
 *   is empty
 */
export function readPagination(request: PaginationRequest): PaginationRequest {
  requireKnown("pagination", request, { first: true, after: true, last: true, before: true, newestFirst: true });
  requireOneOf("newestFirst", request.newestFirst, [true, false]);
  const { first, after, last, before, newestFirst } = request;
  const forwards = first === undefined ? after : first;
  const backwards = last === undefined ? before : last;
  if (forwards !== undefined && backwards !== undefined) {
    const names = [first === undefined ? "after" : "first", last === undefined ? "before" : "last"];
    throw new RequestError(`${names.join(" and ")} are both given`, {
      advice: "Give first and after to page forwards, or last and before to page backwards.",
    });
  }
  return {
    first: first === undefined ? undefined : pageSize(first, "first"),
    after: after === undefined ? undefined : cursor(after, "after"),
    last: last === undefined ? undefined : pageSize(last, "last"),
    before: before === undefined ? undefined : cursor(before, "before"),
    newestFirst,
  };
}

/**
 * Check the size of a page.
 *
 * @param value how many records
 * @param name of the option, for errors
 * @returns the same number
 * @throws {@link RequestError} where it is no whole number from 1 to 5000
 */
export function pageSize(value: number, name: string): number {
  if (!Number.isInteger(value) || value < 1 || value > MAX_PAGE_SIZE) {
    throw new RequestError(`${name} is ${String(value)}, which is no size of a page`, {
      advice: `Give a whole number from 1 to ${MAX_PAGE_SIZE}, the largest page that nodes give.`,
    });
  }
  return value;
}

/**
 * Check a cursor. It is opaque, but never empty.
 *
 * @param value the cursor
 * @param name of the option, for errors
 * @returns the same cursor
 * @throws {@link RequestError} where it is empty or no text
 */
export function cursor(value: string, name: string): string {
  if (typeof value !== "string" || value === "") {
    throw new RequestError(`${name} is ${JSON.stringify(value)}, which is no cursor`, {
      advice: "Give the cursor of a record as the node gave it, or leave it out to begin at the start.",
    });
  }
  return value;
}
