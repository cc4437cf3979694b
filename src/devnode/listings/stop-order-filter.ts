import type { StopOrderFilter } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status } from "../../../gen/vega/stop_order_pb.js";
import { invalid } from "../invalid.js";
import type { Conditions } from "./page.js";

/**
 * The conditions that a filter stands for. The specification does not show how filters combine: as on deployed nodes, those of
 * different kinds are joined by "and", those of one kind by "or". The range of dates is about the last change, the start
 * included and the end not; live is what is pending.
 *
 * @throws ConnectError with `InvalidArgument` where the filter cannot be right
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
