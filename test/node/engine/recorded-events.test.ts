import { readFileSync } from "node:fs";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import {
  BatchMarketInstructionsSchema,
  OrderAmendmentSchema,
  OrderCancellationSchema,
  OrderSubmissionSchema,
  StopOrdersCancellationSchema,
  StopOrdersSubmissionSchema,
} from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { AccountSchema, AccountType } from "tradewire/gen/vega/vega_pb.js";
import { ann, asset, bob, cat, dan, marketId, openExchange, START, valuesOf } from "./exchange.js";
import { accountId, type Event, transactionError } from "./inside.js";
import { recordedMarket } from "./recorded-market.js";

interface RecordedCase {
  readonly name: string;
  readonly party: "ann" | "bob" | "cat" | "dan";
  readonly kind: string;
  readonly command: JsonValue;
  /** The events with the transaction's hash, in their sequence; orders and stop orders with their status and reason. */
  readonly events: readonly string[];
  /** The message of the event `txErrEvent`, where there was one. */
  readonly error?: string;
}

const { cases }: { readonly cases: readonly RecordedCase[] } = JSON.parse(
  readFileSync(new URL("../../network/recorded/order-events.json", import.meta.url), "utf8"),
);

const PARTIES = { ann, bob, cat, dan };
/** The orders of earlier cases, by the name of the case. */
const orderIds = new Map<string, string>();

/** Put the market, orders of earlier cases and times in the places that the recording leaves for them. */
function filled(command: JsonValue): JsonValue {
  return JSON.parse(
    JSON.stringify(command)
      .replaceAll("$MARKET", marketId)
      .replaceAll("$past", String(START - 3_600_000_000_000n))
      .replaceAll(/\$id:([^"]+)/g, (_, name: string) => orderIds.get(name) ?? ""),
  );
}

function commandOf(kind: string, json: JsonValue): InputData["command"] {
  switch (kind) {
    case "orderSubmission":
      return { case: kind, value: fromJson(OrderSubmissionSchema, json) };
    case "orderAmendment":
      return { case: kind, value: fromJson(OrderAmendmentSchema, json) };
    case "orderCancellation":
      return { case: kind, value: fromJson(OrderCancellationSchema, json) };
    case "stopOrdersSubmission":
      return { case: kind, value: fromJson(StopOrdersSubmissionSchema, json) };
    case "stopOrdersCancellation":
      return { case: kind, value: fromJson(StopOrdersCancellationSchema, json) };
    default:
      return { case: "batchMarketInstructions", value: fromJson(BatchMarketInstructionsSchema, json) };
  }
}

/** An event as the recording writes it; none for what the bus does not have. */
function written(event: Event): string[] {
  switch (event.case) {
    case "position":
    case "endedOrder":
      return [];
    case "order":
      return [`order(${[event.value.status, ...(event.value.reason ? [event.value.reason] : [])].join(", ")})`];
    case "stopOrder": {
      const { status, rejectionReason } = event.value.stopOrder ?? {};
      return [`stopOrder(${[status, ...(rejectionReason ? [rejectionReason] : [])].join(", ")})`];
    }
    case "ledgerMovements": {
      const types = event.value.ledgerMovements.map(({ entries }) => entries.map(({ type }) => type).join("+"));
      return [`ledgerMovements(${types.join(", ")})`];
    }
    default:
      return [event.case];
  }
}

describe("events come as recorded of the network", () => {
  const accounts = Object.values(PARTIES).map((owner) => {
    const key = { owner, asset, marketId: "", type: AccountType.GENERAL };
    return create(AccountSchema, { ...key, id: accountId(key), balance: "100000000000000" });
  });
  const exchange = openExchange(recordedMarket, {
    assets: [create(AssetSchema, { id: asset, details: { decimals: 5n } })],
    lastPrices: new Map([[marketId, "10000000000"]]),
    accounts,
  });

  test("for all cases", () => {
    expect(cases.length).toBeGreaterThan(40);
  });

  test.each(cases)("$name", ({ name, party, kind, command, events, error }) => {
    const sent = { command: commandOf(kind, filled(command)), partyId: PARTIES[party], signature: new Uint8Array(64) };
    const { outcome, events: emitted, ids } = exchange.send(sent.partyId, sent.command);
    orderIds.set(name, valuesOf(emitted, "order")[0]?.id ?? ids[0] ?? "");
    const end = outcome.status === "success" ? ["transactionResult"] : ["transactionResult", "txErrEvent"];
    expect([...emitted.flatMap(written), ...end]).toEqual(events);
    const message =
      outcome.status === "success" ? undefined : transactionError({ ...sent, txHash: "" }, outcome).errMsg;
    expect(message).toBe(error);
    exchange.nextBlock();
  });
});
