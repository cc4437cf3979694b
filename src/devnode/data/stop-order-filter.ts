import type { StopOrderFilter } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import { type Conditions, createConditions, identifier } from "./conditions.js";

/**
 * Translate a filter of stop orders into conditions (specification, 4.4). The date range applies to the last change.
 * Live stop orders are the pending ones.
 *
 * @param filter the filter of the request; timestamps are Unix nanoseconds, identifiers 64 hex digits
 * @returns SQL conditions and their parameters
 * @throws ConnectError with `InvalidArgument` if the date range is empty or an identifier is malformed
 */
export function filterConditions(filter: StopOrderFilter | undefined): Conditions {
  const { add, oneOf, within, build } = createConditions();
  const { statuses = [], expiryStrategies = [], partyIds = [], marketIds = [], dateRange, liveOnly } = filter ?? {};
  oneOf("status", "int", statuses);
  oneOf("coalesce(expiry_strategy, 0)", "int", expiryStrategies);
  oneOf("party_id", "text", partyIds.map(filtered));
  oneOf("market_id", "text", marketIds.map(filtered));
  within("coalesce(updated_at, created_at)", dateRange);
  if (liveOnly === true) {
    add((status) => `status = ${status}::int`, StopOrder_Status.PENDING);
  }
  return build();
}

const filtered = (id: string) => identifier(id, "filter");
