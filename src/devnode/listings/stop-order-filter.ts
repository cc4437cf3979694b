import type { StopOrderFilter } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import { invalid } from "../invalid.js";
import type { Conditions } from "./page.js";

/**
 * Translate a filter of stop orders into conditions (specification, 4.4). The specification does not show how filters
 * combine. As on deployed nodes, filters of different kinds are joined by "and" and values of one kind by "or". The
 * date range applies to the last change, with its start included and its end excluded. Live stop orders are the pending
 * ones.
 *
 * @param filter the filter of the request; timestamps are Unix nanoseconds, identifiers 64 hex digits
 * @returns SQL conditions and their parameters
 * @throws ConnectError with `InvalidArgument` if the date range is empty or an identifier is malformed
 */
export function filterConditions(filter: StopOrderFilter | undefined): Conditions {
  const sql: string[] = [];
  const parameters: unknown[] = [];
  const add = (condition: (parameter: string) => string, value: unknown) => {
    parameters.push(value);
    sql.push(condition(`$${parameters.length}`));
  };
  const { statuses = [], expiryStrategies = [], partyIds = [], marketIds = [], dateRange, liveOnly } = filter ?? {};
  if (statuses.length > 0) {
    add((list) => `status = ANY(${list}::int[])`, statuses);
  }
  if (expiryStrategies.length > 0) {
    add((list) => `coalesce(expiry_strategy, 0) = ANY(${list}::int[])`, expiryStrategies);
  }
  if (partyIds.length > 0) {
    add((list) => `party_id = ANY(${list}::text[])`, partyIds.map(identifier));
  }
  if (marketIds.length > 0) {
    add((list) => `market_id = ANY(${list}::text[])`, marketIds.map(identifier));
  }
  const { startTimestamp: start, endTimestamp: end } = dateRange ?? {};
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalid("filter", `the date range is empty: it starts at ${start} and ends at ${end}`);
  }
  if (start !== undefined) {
    add((time) => `coalesce(updated_at, created_at) >= ${time}::text::bigint`, String(start));
  }
  if (end !== undefined) {
    add((time) => `coalesce(updated_at, created_at) < ${time}::text::bigint`, String(end));
  }
  if (liveOnly === true) {
    sql.push(`status = ${StopOrder_Status.PENDING}`);
  }
  return { sql, parameters };
}

function identifier(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw invalid("filter", `${JSON.stringify(text)} is not an identifier of 64 hex digits`);
  }
  return text.toLowerCase();
}
