// @ts-check
import { ConnectionError, Order_TimeInForce, Order_Type, OutcomeUnknownError, Side, StopOrder_Status } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

/** Blocks beyond those in which the network takes a transaction: the node may be behind. */
const BLOCKS_OF_GRACE = 3n;

/**
 * One stop order of a party on a market. What the node lists is the truth, and is asked for after each change. Nothing is
 * sent while it is not known what became of something sent before.
 *
 * @param {import("tradewire").Client} client
 * @param {import("tradewire").Signer} signer
 * @param {{ marketId: string, size: bigint }} order what is sold when the price falls below the trigger
 */
export function createStopOrder(client, signer, { marketId, size }) {
  /** The live stop orders; undefined where they are not known. @type {{ id: string, trigger: bigint }[] | undefined} */
  let live;
  /** A transaction of which it is not known what became. @type {{ sent: string | OutcomeUnknownError, until?: bigint } | undefined} */
  let doubt;
  /** Whether there was a live one, as the node's list or an event said. */
  let isPlaced = false;
  /** Those that events say are live. */
  const pending = new Set();
  let isOver = false;

  /** Find out how things stand; fails while they cannot be known. */
  async function look() {
    if (doubt !== undefined) {
      const { status } = await client.outcome(doubt.sent, { timeoutMs: 5000 });
      const { height, spamPowNumberOfPastBlocks } = await client.service(CoreService).lastBlockHeight({});
      doubt.until ??= height + BigInt(spamPowNumberOfPastBlocks) + BLOCKS_OF_GRACE;
      if (status === "unknown" && height <= doubt.until) {
        return undefined; // It may still be taken.
      }
      doubt = undefined;
    }
    const found = [];
    const filter = { partyIds: [signer.publicKey], marketIds: [marketId], liveOnly: true };
    for await (const { node } of client.stopOrders({ filter })) {
      const { id, trigger } = node.stopOrder;
      found.push({ id, trigger: trigger.case === "price" ? BigInt(trigger.value) : 0n });
    }
    live = found;
    if (!isPlaced && found.length > 0) {
      isPlaced = true;
      console.log("a stop order is live");
    }
    return live;
  }

  /**
   * Find out whether stop orders have ended without us, so that a command that cancels them was refused.
   *
   * @param {{ id: string }[]} known
   */
  async function haveEnded(known) {
    const found = await look();
    return found !== undefined && known.some(({ id }) => !found.some((other) => other.id === id));
  }

  /**
   * Send a command, and wait for its outcome.
   *
   * @param {import("tradewire").CommandInit} command
   * @param {string} what
   */
  async function send(command, what) {
    live = undefined;
    try {
      const { outcome, txHash } = await client.sendCommand(command, { signer, until: "executed" });
      if (outcome.status === "unknown") {
        doubt = { sent: txHash };
      } else if (outcome.status !== "executed") {
        throw new Error(`${what}: ${outcome.reason}\nLook at the position and the stop orders of ${signer.publicKey}.`);
      }
      console.log(outcome.status === "executed" ? what : `${what}: not known yet`);
    } catch (reason) {
      if (!(reason instanceof OutcomeUnknownError)) {
        throw reason;
      }
      doubt = { sent: reason };
      console.log(`${what}: not known yet`);
    }
  }

  /** @param {{ id: string }[]} stopOrders */
  const cancellations = (stopOrders) => stopOrders.map(({ id }) => ({ marketId, stopOrderId: id }));

  return {
    /** Forget what is known, as after a lost connection. */
    forget() {
      live = undefined;
      pending.clear();
    },

    /**
     * Raise the trigger to a level where that is higher by a step at least. The new stop order takes the place of the old
     * one in one transaction.
     *
     * @param {bigint} level
     * @param {bigint} step
     */
    async raiseTo(level, step) {
      try {
        const known = live ?? (await look());
        if (known === undefined || known.some(({ trigger }) => level < trigger + step)) {
          return;
        }
        if (isPlaced && known.length === 0) {
          live = undefined;
          isOver = pending.size === 0; // Otherwise the node's list is behind its events, and is asked for again.
          return;
        }
        const sell = { side: Side.SELL, type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC, reduceOnly: true };
        const fallsBelow = {
          orderSubmission: { marketId, size, ...sell },
          trigger: /** @type {const} */ ({ case: "price", value: String(level) }),
        };
        const value = { stopOrdersCancellation: cancellations(known), stopOrdersSubmission: [{ fallsBelow }] };
        await send({ case: "batchMarketInstructions", value }, `stop order at ${level}`).catch(async (reason) => {
          if (reason instanceof ConnectionError || !(await haveEnded(known))) {
            throw reason;
          }
          isOver = true;
        });
      } catch (reason) {
        if (!(reason instanceof ConnectionError)) {
          throw reason;
        }
        console.log(reason.summary); // Nothing was sent; the next price tries again.
      }
    },

    /** Whether the stop order has come to its end without us. */
    get isOver() {
      return isOver;
    },

    /**
     * Take note of an event about a stop order.
     *
     * @param {import("tradewire").StopOrder | undefined} told
     */
    hear(told) {
      if (told?.partyId !== signer.publicKey) {
        return;
      }
      if (told.status === StopOrder_Status.PENDING) {
        pending.add(told.id);
        isPlaced = true;
        return;
      }
      pending.delete(told.id);
      if (live?.some(({ id }) => id === told.id)) {
        live = live.filter(({ id }) => id !== told.id);
        isOver = true;
      }
    },

    /** Cancel the stop order, if there is one. */
    async takeBack() {
      const known = live ?? (await look().catch(() => undefined));
      if (known === undefined) {
        throw new Error("whether there is a stop order is not known\nLook for it, and cancel it by hand.");
      }
      for (const value of cancellations(known)) {
        await send({ case: "stopOrdersCancellation", value }, "stop order taken back").catch(async (reason) => {
          if (!(await haveEnded([{ id: value.stopOrderId }]))) {
            throw reason;
          }
          console.log("the stop order has come to its end");
        });
      }
    },
  };
}
