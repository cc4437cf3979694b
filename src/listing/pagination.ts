import { RequestError } from "../errors/index.js";

/** The largest page that deployed nodes give. */
export const MAX_PAGE_SIZE = 5000;

/** Which page of a listing to give (specification, 2.1). Ask for the first records after a cursor, or for the last before one. */
export interface PaginationRequest {
  /** How many records, counted from `after` onwards, or from the start of the listing: 1 to 5000. */
  readonly first?: number | undefined;
  /** The cursor of the last record of the page before. */
  readonly after?: string | undefined;
  /** How many records, counted back from `before`, or from the end of the listing: 1 to 5000. Deployed nodes refuse it for stop orders. */
  readonly last?: number | undefined;
  /** The cursor of the first record of the page after. */
  readonly before?: string | undefined;
  /** Whether the newest records come first; by default they do. Deployed nodes refuse `false` for stop orders. */
  readonly newestFirst?: boolean | undefined;
}

/**
 * Check which page is asked for, as far as that can be done without the node.
 *
 * @throws {@link RequestError} where both directions are asked for, a number of records is not 1 to 5000, or a cursor is empty
 */
export function readPagination(request: PaginationRequest): PaginationRequest {
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

/** Check a number of records to a page. */
export function pageSize(value: number, name: string): number {
  if (!Number.isInteger(value) || value < 1 || value > MAX_PAGE_SIZE) {
    throw new RequestError(`${name} is ${String(value)}, which is no size of a page`, {
      advice: `Give a whole number from 1 to ${MAX_PAGE_SIZE}, the largest page that nodes give.`,
    });
  }
  return value;
}

/** Check a cursor: it is opaque, but never empty. */
export function cursor(value: string, name: string): string {
  if (typeof value !== "string" || value === "") {
    throw new RequestError(`${name} is ${JSON.stringify(value)}, which is no cursor`, {
      advice: "Give the cursor of a record as the node gave it, or leave it out to begin at the start.",
    });
  }
  return value;
}
