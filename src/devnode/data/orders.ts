import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { OrderFilter, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  OrderErrorSchema,
  type OrderSchema,
  PeggedReferenceSchema,
  SideSchema,
} from "../../../gen/vega/vega_pb.js";
import { asNanoseconds, type ConditionBuilder, createConditions, identifier } from "./conditions.js";
import { enumNames } from "./enum-names.js";
import { readSnapshot, type Watch } from "./observe.js";
import { blockKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const orders: Listing = { from: ["live_order", "history_order"], key: blockKey };

/** The statuses of orders that can still trade. */
const LIVE = ["STATUS_ACTIVE", "STATUS_PARKED"];

type OrderMethods = Pick<ServiceImpl<typeof TradingDataService>, "listOrders" | "getOrder" | "observeOrders">;

/**
 * Implement the methods for orders: those of the history, and those that transactions bring.
 *
 * @param pg the database that holds the tables
 * @param watch keeps streams open
 * @returns the methods of the data service that list and stream orders and get one
 */
export function orderMethods(pg: PGlite, watch: Watch): OrderMethods {
  return {
    async listOrders({ filter, pagination }) {
      return { orders: await readPage(pg, orders, pagination, orderOf, filtered(filter ?? {}).build()) };
    },

    async getOrder({ orderId, version }) {
      if (version !== undefined && version < 1) {
        throw new ConnectError(`version is ${version}; the first one is 1`, Code.InvalidArgument);
      }
      const { add, identifiers, build } = createConditions();
      identifiers("id", [identifier(orderId)]);
      if (version !== undefined) {
        add((wanted) => `version = ${wanted}::int`, version);
      }
      const [edge] = (await readPage(pg, orders, undefined, orderOf, build())).edges;
      if (edge === undefined) {
        throw new ConnectError(
          `there is no order ${orderId}${version === undefined ? "" : ` of version ${version}`}`,
          Code.NotFound,
        );
      }
      return { order: edge.node };
    },

    async *observeOrders({ marketIds, partyIds, excludeLiquidity = false }, { signal }) {
      const wanted = () => filtered({ marketIds, partyIds, excludeLiquidity });
      const { rows: last } = await pg.query<Row>("SELECT coalesce(max(changed), 0) AS changed FROM live_order");
      let seen = readRow(last[0] ?? {}).text("changed");
      const live = wanted();
      live.oneOf("status", "text", LIVE);
      for await (const { rows, lastPage } of readSnapshot(pg, orders.from, live.build())) {
        yield { response: { case: "snapshot" as const, value: { orders: rows.map(orderOf), lastPage } } };
      }
      yield* watch("order", signal, async function* () {
        const news = wanted();
        news.add((number) => `changed > ${number}::text::bigint`, seen);
        const { sql, parameters } = news.build();
        const { rows } = await pg.query<Row>(`SELECT * FROM live_order WHERE ${sql.join(" AND ")} ORDER BY changed`, [
          ...parameters,
        ]);
        const newest = rows.at(-1);
        if (newest !== undefined) {
          seen = readRow(newest).text("changed");
          yield { response: { case: "updates" as const, value: { orders: rows.map(orderOf) } } };
        }
      });
    },
  };
}

/** Conditions for a filter. Its range of dates is about the last change. */
function filtered(filter: Partial<OrderFilter>): ConditionBuilder {
  const conditions = createConditions();
  const { add, identifiers, oneOf, within } = conditions;
  oneOf("status", "text", enumNames(Order_StatusSchema, filter.statuses ?? []));
  oneOf("type", "text", enumNames(Order_TypeSchema, filter.types ?? []));
  oneOf("time_in_force", "text", enumNames(Order_TimeInForceSchema, filter.timeInForces ?? []));
  identifiers("party_id", filter.partyIds ?? []);
  identifiers("market_id", filter.marketIds ?? []);
  within(asNanoseconds("vega_time"), filter.dateRange);
  if (filter.reference !== undefined) {
    add((text) => `coalesce(reference, '') = ${text}::text`, filter.reference.replaceAll("\0", ""));
  }
  if (filter.excludeLiquidity === true) {
    add((none) => `lp_id IS NOT DISTINCT FROM ${none}::bytea`, null);
  }
  if (filter.liveOnly === true) {
    oneOf("status", "text", LIVE);
  }
  return conditions;
}

function orderOf(row: Row): MessageInitShape<typeof OrderSchema> {
  const { text, integer, flag, enumeration, given } = readRow(row);
  return {
    id: text("id"),
    marketId: text("market_id"),
    partyId: text("party_id"),
    side: enumeration(SideSchema, "side"),
    price: text("price"),
    size: integer("size"),
    remaining: integer("remaining"),
    timeInForce: enumeration(Order_TimeInForceSchema, "time_in_force"),
    type: enumeration(Order_TypeSchema, "type"),
    createdAt: integer("created_at"),
    status: enumeration(Order_StatusSchema, "status"),
    expiresAt: integer("expires_at"),
    reference: text("reference"),
    ...given("reason", () => ({ reason: enumeration(OrderErrorSchema, "reason") })),
    updatedAt: integer("updated_at"),
    version: integer("version"),
    batchId: integer("batch_id"),
    ...given("pegged_reference", () => ({
      peggedOrder: { reference: enumeration(PeggedReferenceSchema, "pegged_reference"), offset: text("pegged_offset") },
    })),
    liquidityProvisionId: text("lp_id"),
    postOnly: flag("post_only"),
    reduceOnly: flag("reduce_only"),
    ...given("peak_size", () => ({
      icebergOrder: { peakSize: integer("peak_size"), minimumVisibleSize: integer("minimum_visible_size") },
    })),
  };
}
