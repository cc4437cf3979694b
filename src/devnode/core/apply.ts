import type { PGlite } from "@electric-sql/pglite";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { encodeHex } from "../../transaction/hex.js";
import { cancelOrders, submitOrder } from "./apply-orders.js";
import { cancelStopOrders, submitStopOrders } from "./apply-stop-orders.js";
import type { ExecutedCommand } from "./command.js";

/**
 * Carry out a command: submissions and cancellations of orders and stop orders, also those in a batch. What it holds is
 * applied all together or not at all. Other commands have no effect.
 *
 * @param pg the database
 * @param executed the command, its sender and signature, and its block
 */
export async function applyCommand(pg: PGlite, executed: ExecutedCommand): Promise<void> {
  const { command, partyId, timestamp } = executed;
  const ids = identifiers(executed.signature);
  await pg.transaction(async (sql) => {
    await sql.query("INSERT INTO party VALUES ($1, $2) ON CONFLICT DO NOTHING", [partyId, timestamp]);
    switch (command.case) {
      case "orderSubmission":
        await submitOrder(sql, executed, command.value, ids.next().value);
        break;
      case "orderCancellation":
        await cancelOrders(sql, executed, command.value);
        break;
      case "stopOrdersSubmission":
        await submitStopOrders(sql, executed, command.value, ids);
        break;
      case "stopOrdersCancellation":
        await cancelStopOrders(sql, executed, command.value);
        break;
      case "batchMarketInstructions":
        for (const cancellation of command.value.cancellations) {
          await cancelOrders(sql, executed, cancellation);
        }
        for (const submission of command.value.submissions) {
          await submitOrder(sql, executed, submission, ids.next().value);
        }
        for (const cancellation of command.value.stopOrdersCancellation) {
          await cancelStopOrders(sql, executed, cancellation);
        }
        for (const submission of command.value.stopOrdersSubmission) {
          await submitStopOrders(sql, executed, submission, ids);
        }
        break;
    }
  });
}

/** Identifiers as the network makes them: the hash of the signature, then the hash of that hash, and so on. */
function* identifiers(signature: Uint8Array): Generator<string, never> {
  let hash = sha3_256(signature);
  for (;;) {
    yield encodeHex(hash);
    hash = sha3_256(hash);
  }
}
