import { type CallOptions, Code, type Client as ConnectClient } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import {
  Order_Status,
  OrderError,
  StopOrder_RejectionReason,
  StopOrder_Status,
} from "../../gen/client/vega/vega_pb.js";
import { NodeError, TradewireError } from "../errors/index.js";
import { connectOptions } from "../given/call-options.js";
import type { Trace } from "./outcome.js";

/** What is looked for. What is not known of a transaction is not looked for. */
export interface TraceSubject {
  /** The identifier that an order of it has: 64 hex digits in lower case. */
  readonly orderId: string | undefined;
  /** The sender, 64 hex digits. */
  readonly publicKey: string | undefined;
  /** The height of the block that it is tied to. */
  readonly blockHeight: bigint | undefined;
}

/** Traces of a transaction, and what they prove. */
export interface Traces {
  readonly lookedAt: readonly Trace[];
  /** What its order or stop order proves; `undefined` where there is none, or where its state leaves it open. */
  readonly proof: { readonly status: "executed" } | { readonly status: "failed"; readonly reason: string } | undefined;
}

/** The calls that find traces. They throw the library's errors. */
export interface TraceServices {
  readonly core: Pick<ConnectClient<typeof CoreService>, "getSpamStatistics" | "lastBlockHeight">;
  readonly data: Pick<ConnectClient<typeof TradingDataService>, "getOrder" | "getStopOrder">;
  /** Further headers of the requests. */
  readonly headers?: CallOptions["headers"];
}

/** The longest time for one look, in milliseconds. */
const LOOK_MS = 5_000;

/**
 * Look for traces of a transaction whose result did not come: an order or a stop order of it, how many transactions of its
 * key the block that it is tied to has served, and whether that block is too old.
 *
 * @param services the node's
 * @param subject what is known of the transaction
 * @returns what was found, and what it proves. A look that fails is told as one
 */
export async function lookForTraces({ core, data, headers }: TraceServices, subject: TraceSubject): Promise<Traces> {
  const { orderId, publicKey, blockHeight } = subject;
  let proof: Traces["proof"];
  const looks: Promise<Trace>[] = [];

  function look(place: Trace["place"], ask: (options: CallOptions) => Promise<string>): void {
    const found = ask(connectOptions({ signal: AbortSignal.timeout(LOOK_MS), headers })).catch((reason: unknown) => {
      const isNone = reason instanceof NodeError && reason.code === Code.NotFound;
      return isNone
        ? "none"
        : `could not be looked at: ${reason instanceof TradewireError ? reason.summary : String(reason)}`;
    });
    looks.push(found.then((text) => ({ place, found: text })));
  }

  if (orderId !== undefined) {
    look("order", async (options) => {
      const { order } = await data.getOrder({ orderId }, options);
      if (order?.id.toLowerCase() !== orderId) {
        return "none";
      }
      proof ??= provedByOrder(order);
      return `order ${orderId} is STATUS_${Order_Status[order.status] ?? order.status}${reasonText(order.reason)}`;
    });
    look("stop order", async (options) => {
      const stopOrder = (await data.getStopOrder({ orderId }, options)).order?.stopOrder;
      if (stopOrder?.id.toLowerCase() !== orderId) {
        return "none";
      }
      const { status, rejectionReason } = stopOrder;
      const reason = `REJECTION_REASON_${StopOrder_RejectionReason[rejectionReason ?? 0]}`;
      const isRejected = status === StopOrder_Status.REJECTED;
      proof ??= status === StopOrder_Status.UNSPECIFIED ? undefined : isRejected ? failed(reason) : EXECUTED;
      return `stop order ${orderId} is STATUS_${StopOrder_Status[status] ?? status}${isRejected ? `, ${reason}` : ""}`;
    });
  }
  if (publicKey !== undefined && blockHeight !== undefined) {
    look("spam statistics", async (options) => {
      const { statistics } = await core.getSpamStatistics({ partyId: publicKey }, options);
      const state = statistics?.pow?.blockStates.find((each) => each.blockHeight === blockHeight);
      return `block ${blockHeight} has served ${state?.transactionsSeen ?? 0n} transactions of the key`;
    });
  }
  look("last block", async (options) => {
    const { height, spamPowNumberOfPastBlocks: past } = await core.lastBlockHeight({}, options);
    const isTooOld = blockHeight !== undefined && height >= blockHeight + BigInt(past);
    const age = isTooOld ? "is too old to be taken now" : "may still be taken";
    return `the last block is ${height}${blockHeight === undefined ? "" : `; a transaction tied to block ${blockHeight} ${age}`}`;
  });
  const lookedAt = await Promise.all(looks);
  return { lookedAt, proof };
}

const EXECUTED = { status: "executed" } as const;
const failed = (reason: string) => ({ status: "failed", reason }) as const;

/** What the state of an order proves of the transaction that submitted it. One that was stopped leaves it open. */
function provedByOrder(order: {
  readonly status: Order_Status;
  readonly reason?: OrderError | undefined;
}): Traces["proof"] {
  switch (order.status) {
    case Order_Status.ACTIVE:
    case Order_Status.PARTIALLY_FILLED:
    case Order_Status.FILLED:
    case Order_Status.CANCELLED:
    case Order_Status.EXPIRED:
    case Order_Status.PARKED:
      return EXECUTED;
    case Order_Status.REJECTED:
      return failed(`ORDER_ERROR_${OrderError[order.reason ?? 0]}`);
    default:
      return undefined;
  }
}

function reasonText(reason: OrderError | undefined): string {
  return reason === undefined || reason === OrderError.UNSPECIFIED ? "" : `, ORDER_ERROR_${OrderError[reason]}`;
}
