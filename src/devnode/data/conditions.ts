import type { DateRange } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalid } from "../invalid.js";

/** Conditions that rows must all meet. `$1` and so on stand for the parameters. */
export interface Conditions {
  readonly sql: readonly string[];
  readonly parameters: readonly unknown[];
}

/** Conditions that are put together. Every function but `build` adds one, unless its value lets all rows through. */
export interface ConditionBuilder {
  /** A condition of one's own. The function gets the name of the parameter, such as `$3`. */
  add(condition: (parameter: string) => string, value: unknown): void;
  /** A column is one of several values; an empty list lets all through. */
  oneOf(column: string, type: string, values: readonly unknown[]): void;
  /** A column of bytes is one of several identifiers; an empty list lets all through. */
  identifiers(columns: string | readonly string[], ids: readonly string[]): void;
  /** A time of the row, in Unix nanoseconds, is within a range. The end is excluded. */
  within(time: string, range: DateRange | undefined): void;
  build(): Conditions;
}

/** A key of the network's: that of a market, an order, a party. */
const IDENTIFIER = /^[0-9a-f]{64}$/i;

/**
 * Check an identifier.
 *
 * @param text the text of the request
 * @param what the part of the request that is wrong otherwise
 * @returns the identifier, in lower case
 * @throws ConnectError with `InvalidArgument` if the text is not 64 hex digits
 */
export function identifier(text: string, what: "identifier" | "filter" = "identifier"): string {
  if (!IDENTIFIER.test(text)) {
    throw invalid(what, `${JSON.stringify(text)} is not an identifier of 64 hex digits`);
  }
  return text.toLowerCase();
}

/**
 * Start to put together the conditions of a filter. Conditions are joined by "and", the values of one by "or", as
 * deployed nodes do.
 *
 * @returns an empty builder
 */
export function createConditions(): ConditionBuilder {
  const sql: string[] = [];
  const parameters: unknown[] = [];
  const add: ConditionBuilder["add"] = (condition, value) => {
    parameters.push(value);
    sql.push(condition(`$${parameters.length}`));
  };
  return {
    add,
    oneOf(column, type, values) {
      if (values.length > 0) {
        add((list) => `${column} = ANY(${list}::${type}[])`, values);
      }
    },
    identifiers(columns, ids) {
      if (ids.length > 0) {
        const list = (parameter: string) =>
          `(SELECT array_agg(decode(hex, 'hex')) FROM unnest(${parameter}::text[]) AS hex)::bytea[]`;
        add(
          (parameter) =>
            `(${[columns]
              .flat()
              .map((column) => `${column} = ANY(${list(parameter)})`)
              .join(" OR ")})`,
          ids.map((id) => identifier(id, "filter")),
        );
      }
    },
    within(time, range) {
      const { startTimestamp: start, endTimestamp: end } = range ?? {};
      if (start !== undefined && end !== undefined && start >= end) {
        throw invalid("filter", `the date range is empty: it starts at ${start} and ends at ${end}`);
      }
      if (start !== undefined) {
        add((bound) => `${time} >= ${bound}::text::bigint`, String(start));
      }
      if (end !== undefined) {
        add((bound) => `${time} < ${bound}::text::bigint`, String(end));
      }
    },
    build: () => ({ sql, parameters }),
  };
}

/**
 * The SQL for a time in Unix nanoseconds.
 *
 * @param column a column of type `timestamptz`
 * @returns an SQL expression of type `bigint`
 */
export const asNanoseconds = (column: string): string => `(extract(epoch FROM ${column}) * 1000000)::bigint * 1000`;
