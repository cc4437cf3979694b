import type { DateRange } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { apiError, invalidArgument } from "../api-error.js";

/** The identifier of the network itself where a party is expected. */
export const NETWORK_PARTY = "network";

/** The non-hexadecimal identifiers that the network's database accepts (datanode/entities/id.go). */
const WELL_KNOWN = new Set([
  ...[NETWORK_PARTY, "VOTE", "XYZalpha", "XYZbeta", "XYZdelta", "XYZepsilon", "XYZgamma"],
  ...["fBTC", "fDAI", "fEURO", "fUSDC"],
]);

/** The network's text for a malformed identifier. */
export const NO_IDENTIFIER = "not a valid hex id (or well known exception)";

/**
 * The error of a failed query: the text of its detail, and the text that the data node wraps around the cause. If the
 * message is empty, the cause is the detail's text.
 */
export interface Query {
  readonly message: string;
  readonly inner?: (cause: string) => string;
}

export function queryError(query: Query, cause: string, code = Code.Internal) {
  const inner = query.inner?.(cause) ?? cause;
  return query.message === "" ? apiError(code, inner) : apiError(code, query.message, inner);
}

/** Reports whether a text has the form of the network's identifiers: 64 hex digits (libs/crypto/public_key.go). */
export function isIdentifier(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}

/**
 * Validates an identifier that a method requires.
 *
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
 * Validates an identifier that a method passes to its query.
 *
 * @throws ConnectError with `InvalidArgument` if it is neither hexadecimal nor well known
 */
export function queryIdentifier(text: string, query: Query): string {
  if (!canBeIdentifier(text)) {
    throw queryError(query, `decoding '${text}': ${NO_IDENTIFIER}`, Code.InvalidArgument);
  }
  return lowerCase(text);
}

/**
 * Reports whether the network's database accepts a text as an identifier: complete bytes in hexadecimal, or a well-known
 * name.
 */
export function canBeIdentifier(text: string): boolean {
  return WELL_KNOWN.has(text) || /^([0-9a-f]{2})*$/i.test(text);
}

function lowerCase(text: string): string {
  return WELL_KNOWN.has(text) ? text : text.toLowerCase();
}

/**
 * Returns a predicate that matches any of several values. Like deployed nodes, a filter combines its predicates with
 * "and", and the values of one predicate with "or".
 */
export function oneOf<V>(wanted: readonly V[]): (...values: V[]) => boolean {
  const all = new Set(wanted);
  return all.size === 0 ? () => true : (...values) => values.some((value) => all.has(value));
}

/**
 * Returns a predicate that matches any of a filter's identifiers, like {@link oneOf}. One text of the filter may hold
 * several identifiers, separated by commas.
 *
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
 * Returns a predicate that matches any of a query's identifiers, like {@link oneOf}.
 *
 * @throws ConnectError with `InvalidArgument` if an identifier is neither hexadecimal nor well known
 */
export function queryIdentifiers(ids: readonly string[], query: Query): (...values: string[]) => boolean {
  return oneOf(ids.map((id) => queryIdentifier(id, query)));
}

/**
 * Validates an optional identifier of a request, like {@link queryIdentifier}.
 *
 * @throws ConnectError with `InvalidArgument` if it is neither hexadecimal nor well known
 */
export function askedIdentifier(text: string | undefined, query: Query): string | undefined {
  return text === undefined ? undefined : queryIdentifier(text, query);
}

/** Reports whether a value matches a filter's field. A field that is not set, or empty, matches everything. */
export function isWanted<T>(wanted: T | undefined, value: T): boolean {
  return wanted === undefined || wanted === "" || wanted === value;
}

export function withFields<T>(wanted: { readonly [Field in keyof T]?: T[Field] | undefined }): (record: T) => boolean {
  return (record) => {
    for (const field in wanted) {
      if (Object.hasOwn(wanted, field) && !isWanted(wanted[field], record[field])) {
        return false;
      }
    }
    return true;
  };
}

/** Returns a predicate that matches times within a range. The range includes its start and excludes its end. */
export function within(range: DateRange | undefined): (time: bigint) => boolean {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  return (time) => (start === undefined || time >= start) && (end === undefined || time < end);
}
