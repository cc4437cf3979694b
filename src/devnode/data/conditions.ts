import { Code } from "@connectrpc/connect";
import type { DateRange } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { apiError, invalidArgument } from "../api-error.js";

/** The party that stands for the network itself. */
export const NETWORK_PARTY = "network";

/** The identifiers that the network's database knows beside hexadecimal ones (datanode/entities/id.go). */
const WELL_KNOWN = new Set([
  ...[NETWORK_PARTY, "VOTE", "XYZalpha", "XYZbeta", "XYZdelta", "XYZepsilon", "XYZgamma"],
  ...["fBTC", "fDAI", "fEURO", "fUSDC"],
]);

/** The network's text for what cannot be an identifier. */
export const NO_IDENTIFIER = "not a valid hex id (or well known exception)";

/**
 * How the data node words the failure of a query: the text of the error's detail, and what it puts around the cause.
 * Without a text the cause itself is the detail.
 */
export interface Query {
  readonly message: string;
  readonly inner?: (cause: string) => string;
}

/**
 * Creates the error of a query that failed.
 *
 * @param query how the data node words it
 * @param cause why it failed, in the network's words
 * @param code the gRPC code
 * @returns the error
 */
export function queryError(query: Query, cause: string, code = Code.Internal) {
  const inner = query.inner?.(cause) ?? cause;
  return query.message === "" ? apiError(code, inner) : apiError(code, query.message, inner);
}

/** Tells whether a text has the form of the network's identifiers: 64 hex digits (libs/crypto/public_key.go). */
export function isIdentifier(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}

/**
 * Checks the identifier that a method requires.
 *
 * @param text the text of the request
 * @param missing the network's text where it is empty, such as `empty or missing market ID`
 * @param wrong the network's text where it is no identifier, such as `invalid market ID`
 * @returns the identifier, in lower case
 * @throws ConnectError with `InvalidArgument`
 */
export function identifier(text: string, missing: string, wrong: string): string {
  if (text === "") {
    throw invalidArgument(missing);
  }
  if (text !== NETWORK_PARTY && !isIdentifier(text)) {
    throw invalidArgument(wrong);
  }
  return lowerCase(text);
}

/**
 * Checks an identifier that a method hands to its query.
 *
 * @param text the text of the request
 * @param query how the data node words the failure of the query
 * @returns the identifier, in lower case
 * @throws ConnectError with `InvalidArgument` if it is neither hexadecimal nor well known
 */
export function queryIdentifier(text: string, query: Query): string {
  if (!canBeIdentifier(text)) {
    throw queryError(query, `decoding '${text}': ${NO_IDENTIFIER}`, Code.InvalidArgument);
  }
  return lowerCase(text);
}

/**
 * Whether the network's database takes a text as an identifier: whole bytes in hexadecimal, or a well known name.
 *
 * @param text the text of the request
 * @returns whether it does
 */
export function canBeIdentifier(text: string): boolean {
  return WELL_KNOWN.has(text) || /^([0-9a-f]{2})*$/i.test(text);
}

function lowerCase(text: string): string {
  return WELL_KNOWN.has(text) ? text : text.toLowerCase();
}

/**
 * Makes the condition that a value is one of several. The conditions of a filter are joined by "and", the values of one
 * by "or", as deployed nodes do.
 *
 * @param wanted the values; none let all through
 * @returns a function that tells whether any of the values that it is given is wanted
 */
export function oneOf<V>(wanted: readonly V[]): (...values: V[]) => boolean {
  const all = new Set(wanted);
  return all.size === 0 ? () => true : (...values) => values.some((value) => all.has(value));
}

/**
 * Makes the condition that an identifier is one of a filter's, as {@link oneOf} does. One text of the filter may hold
 * several identifiers, separated by commas.
 *
 * @param ids the identifiers of a filter, 64 hex digits each; none let all through
 * @param what what they identify
 * @returns a function that tells whether any of the identifiers that it is given is wanted; these are in lower case
 * @throws ConnectError with `InvalidArgument` if an identifier of the filter is malformed; the network calls each one an
 *   `invalid party id`
 */
export function identifiers(ids: readonly string[], what: "market" | "party"): (...values: string[]) => boolean {
  const each = ids.flatMap((id) => id.split(","));
  if (!each.every((id) => id === NETWORK_PARTY || isIdentifier(id))) {
    throw invalidArgument("invalid party id", `one or more ${what} id is invalid`);
  }
  return oneOf(each.map(lowerCase));
}

/**
 * Makes the condition that an identifier is one of those of a query, as {@link oneOf} does.
 *
 * @param ids the identifiers; none let all through
 * @param query how the data node words the failure of the query
 * @returns a function that tells whether any of the identifiers that it is given is wanted; these are in lower case
 * @throws ConnectError with `InvalidArgument` if one is neither hexadecimal nor well known
 */
export function queryIdentifiers(ids: readonly string[], query: Query): (...values: string[]) => boolean {
  return oneOf(ids.map((id) => queryIdentifier(id, query)));
}

/**
 * Checks an identifier that a request may set, as {@link queryIdentifier} does.
 *
 * @param text the text of the request, if it has one
 * @param query how the data node words the failure of the query
 * @returns the identifier, in lower case; `undefined` if the request has none
 * @throws ConnectError with `InvalidArgument` if it is neither hexadecimal nor well known
 */
export function askedIdentifier(text: string | undefined, query: Query): string | undefined {
  return text === undefined ? undefined : queryIdentifier(text, query);
}

/** Whether what a filter asks for is so: it asks for nothing where it is not set, or empty. */
export function isWanted<T>(wanted: T | undefined, value: T): boolean {
  return wanted === undefined || wanted === "" || wanted === value;
}

/**
 * Makes the condition that fields of a record have the values that a filter asks for.
 *
 * @param wanted the value of each field; one that is not set, or empty, lets all through
 * @returns a function that tells whether a record has them all
 */
export function withFields<T>(wanted: { readonly [Field in keyof T]?: T[Field] | undefined }): (record: T) => boolean {
  return (record) => {
    for (const field in wanted) {
      if (!isWanted(wanted[field], record[field])) {
        return false;
      }
    }
    return true;
  };
}

/**
 * Makes the condition that a time is within a range. The end is excluded. Nothing is within a range that ends before it
 * starts.
 *
 * @param range the range, in Unix nanoseconds; an end that is not given is open
 * @returns a function that tells whether a time, in Unix nanoseconds, is within it
 */
export function within(range: DateRange | undefined): (time: bigint) => boolean {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  return (time) => (start === undefined || time >= start) && (end === undefined || time < end);
}
