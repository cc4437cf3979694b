import type { StopOrdersSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { TransactionResult } from "../../../gen/vega/events/v1/events_pb.js";
import { encodeHex, sha3 } from "./crypto.js";

/**
 * Derives the identifiers of the records that a transaction creates, such as its orders: the SHA3-256 hash of the
 * signature, then the hash of that hash, and so on (v0.78.0, `core/idgeneration/id_generator.go`).
 *
 * @example
 * const [orderId] = identifiers(signature); // The order of a transaction that submits one.
 */
export function* identifiers(signature: Uint8Array): Generator<string, never> {
  let hash = sha3(signature);
  for (;;) {
    yield encodeHex(hash);
    hash = sha3(hash);
  }
}

/** The halves of a submission of stop orders, in the order in which the network assigns identifiers. */
export const STOP_ORDER_HALVES = ["fallsBelow", "risesAbove"] as const;

/** The identifiers of the stop orders of one submission; a half that the submission lacks has none. */
export type StopOrderIdentifiers = Readonly<Partial<Record<(typeof STOP_ORDER_HALVES)[number], string>>>;

/** The identifiers that a command's orders and stop orders get, 64 hex digits in lower case each. */
export interface CommandIdentifiers {
  /**
   * For a batch, the identifiers of its orders, in the batch's sequence. For other commands, the one identifier of the
   * record that the command creates (order, transfer, …).
   */
  readonly submissions: readonly string[];
  /** One entry for each submission of stop orders in a batch, or for the one submission of a `stopOrdersSubmission`. */
  readonly stopOrders: readonly StopOrderIdentifiers[];
  /**
   * Returns the next identifier at each call, for trades and for orders that a stop order submits immediately.
   */
  readonly next: () => string;
}

/**
 * Derives the identifiers of a command's orders and stop orders as the network does (v0.78.0, `core/processor/abci.go` and
 * `core/processor/batch_market_instructions_processor.go`):
 *
 * - In a pair of stop orders, `fallsBelow` gets the first identifier and `risesAbove` the second.
 * - A batch reserves an identifier for each order and two for each submission of stop orders. Stop orders are numbered from
 *   the identifier of the **last order** on, so the first stop order of a batch with orders has the identifier of the last
 *   one: a defect of the network.
 *
 * A batch whose change of the margin mode fails numbers its stop orders differently if the last order is on that
 * market; this can be known only afterwards and is ignored.
 */
export function commandIdentifiers(
  command: InputData["command"] | TransactionResult["transaction"],
  signature: Uint8Array,
): CommandIdentifiers {
  const ids = identifiers(signature);
  const next = () => ids.next().value;
  switch (command.case) {
    case "stopOrdersSubmission":
      return { submissions: [], stopOrders: [ofHalves(command.value, next)], next };
    case "orderCancellation":
    case "orderAmendment":
    case "stopOrdersCancellation":
      return { submissions: [], stopOrders: [], next };
    case "batchMarketInstructions": {
      const { submissions, stopOrdersSubmission } = command.value;
      const reserved = Array.from({ length: submissions.length + 2 * stopOrdersSubmission.length }, next);
      let shift = Math.max(submissions.length - 1, 0);
      return {
        submissions: reserved.slice(0, submissions.length),
        stopOrders: stopOrdersSubmission.map((each, index) => {
          let at = index + shift;
          shift += each.fallsBelow !== undefined && each.risesAbove !== undefined ? 1 : 0;
          return ofHalves(each, () => reserved[at++] ?? "");
        }),
        next,
      };
    }
    default:
      return { submissions: [next()], stopOrders: [], next };
  }
}

function ofHalves(submission: StopOrdersSubmission, next: () => string): StopOrderIdentifiers {
  const present = STOP_ORDER_HALVES.filter((half) => submission[half] !== undefined);
  return Object.fromEntries(present.map((half) => [half, next()]));
}
