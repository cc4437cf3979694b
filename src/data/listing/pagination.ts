import { clone, create, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, assertOneOf, formatValue, invalidValueError } from "../../base/input/assert.js";
import type { InitOf } from "../../base/input/init.js";
import { parseMessageInit } from "../../base/input/message-init.js";
import type { Connection } from "./paging-method.js";

/** Maximum number of records of a page; deployed nodes refuse larger pages. */
export const MAX_PAGE_SIZE = 5000;

/** Which page of a listing to get: the first records after a cursor, or the last before one. */
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
 * Validates the request for a page, as far as possible without the node.
 *
 * @throws {@link RequestError} if both directions are requested, a number of records is not 1 to 5000, or a cursor
 *   is empty
 */
export function readPagination(request: PaginationRequest): PaginationRequest {
  assertKnownKeys("pagination", request, { first: true, after: true, last: true, before: true, newestFirst: true });
  assertOneOf("newestFirst", request.newestFirst, [true, false]);
  const { first, after, last, before, newestFirst } = request;
  const forwards = first === undefined ? after : first;
  const backwards = last === undefined ? before : last;
  if (forwards !== undefined && backwards !== undefined) {
    const names = [first === undefined ? "after" : "first", last === undefined ? "before" : "last"];
    throw new RequestError(`${names.join(" and ")} cannot be combined`, {
      advice: "Use first and after to page forwards, or last and before to page backwards.",
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
 * Validates the size of a page.
 *
 * @throws {@link RequestError} if it is not an integer from 1 to 5000; for pages by tokens, to 2^31 - 1
 */
export function pageSize(value: number, name: string, by: Connection["by"] = "cursors"): number {
  const max = by === "cursors" ? MAX_PAGE_SIZE : 2 ** 31 - 1;
  if (!Number.isInteger(value) || value < 1 || value > max) {
    const whose = by === "cursors" ? ", the maximum page size of nodes" : "";
    throw invalidValueError(name, value, `a whole number from 1 to ${max}${whose}`);
  }
  return value;
}

/**
 * Validates a cursor. It is opaque, but never empty.
 *
 * @throws {@link RequestError} if it is empty or not a string
 */
export function cursor(value: string, name: string): string {
  if (typeof value !== "string" || value === "") {
    throw new RequestError(`must be the cursor of a record (got ${formatValue(value)})`, {
      option: name,
      errorCode: "TW_INVALID_CURSOR",
      advice: "Use a cursor exactly as the node returned it, or omit it to start at the beginning.",
    });
  }
  return value;
}

/** Listings that v0.78.0 only supports forwards and newest first. It answers others with INVALID_ARGUMENT or INTERNAL. */
const NEWEST_FIRST_ONLY = ["ListOrders", "ListStopOrders"].map((name) => `datanode.api.v2.TradingDataService.${name}`);

/**
 * Validates that deployed nodes support the requested order of a listing.
 *
 * @throws {@link RequestError} if they do not
 */
export function requireDeployedOrder(
  { name, parent }: DescMethod,
  { first, last, before, newestFirst }: PaginationRequest,
): void {
  if (!NEWEST_FIRST_ONLY.includes(`${parent.typeName}.${name}`)) {
    return;
  }
  if (last !== undefined || (first === undefined && before !== undefined)) {
    throw new RequestError(`deployed nodes refuse pagination.${last === undefined ? "before" : "last"} for ${name}`, {
      advice: "Page forwards, with first and after. Nothing was sent.",
    });
  }
  if (newestFirst === false) {
    throw new RequestError(`newestFirst must be true for ${name}: deployed nodes list only the newest first`, {
      advice: "Omit it, and reverse the records. Nothing was sent.",
    });
  }
}

/** The request of a paged method. */
export interface PagedRequest {
  /** The requested page size, if any. */
  readonly first: number | undefined;
  /** The cursor after which it starts, or the token of the page with which it starts, if any. */
  readonly after: string | undefined;
  /** Whether the newest records come first, if specified. */
  readonly newestFirst: boolean | undefined;
  pageRequest(page: { readonly first: number | undefined; readonly after: string | undefined }): Message;
}

/**
 * Validates the request of a paged method.
 *
 * @throws {@link RequestError} if a field does not exist or has an invalid value, or its pagination is backwards
 */
export function readRequest<I extends DescMessage>(
  desc: I,
  init: InitOf<I> | undefined,
  by: Connection["by"],
): PagedRequest {
  const request = clone(desc, create(desc, init === undefined ? undefined : parseMessageInit(desc, init)));
  const [size, start] = by === "cursors" ? (["first", "after"] as const) : (["pageSize", "pageToken"] as const);
  const asked = paginationOf(desc, request, by);
  for (const name of by === "cursors" ? ["last", "before"] : []) {
    if (givenIn(asked, name) !== undefined) {
      throw new RequestError(`pagination.${name} cannot be used when all pages are requested, which go forwards`, {
        advice:
          "Remove it: newestFirst sets the order, and after sets the start. To get a single page, call the method.",
      });
    }
  }
  const first = givenIn(asked, size);
  const after = givenIn(asked, start);
  const newestFirst = by === "cursors" ? givenIn(asked, "newestFirst") : undefined;
  return {
    first: typeof first === "number" ? pageSize(first, size, by) : undefined,
    after: typeof after === "string" ? cursor(after, start) : undefined,
    newestFirst: typeof newestFirst === "boolean" ? newestFirst : undefined,
    pageRequest(page) {
      const next = clone(desc, request);
      const pagination = paginationOf(desc, next, by);
      setValue(pagination, size, page.first);
      setValue(pagination, start, page.after);
      return next;
    },
  };
}

/** The message with the pagination of a request: the request itself with page tokens, or else its field, which is added. */
function paginationOf(desc: DescMessage, request: Message, by: Connection["by"]): ReflectMessage {
  const message = reflect(desc, request);
  const field = desc.field["pagination"];
  if (by === "tokens" || field?.fieldKind !== "message") {
    return message;
  }
  if (!message.isSet(field)) {
    message.set(field, reflect(field.message));
  }
  return message.get(field);
}

function givenIn(message: ReflectMessage, name: string): unknown {
  const field = message.desc.field[name];
  return field !== undefined && message.isSet(field) ? message.get(field) : undefined;
}

function setValue(message: ReflectMessage, name: string, value: number | string | undefined): void {
  const field = message.desc.field[name];
  if (field !== undefined && value !== undefined) {
    message.set(field, value);
  }
}
