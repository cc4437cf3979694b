// @ts-check
import {
  ConnectionError,
  NodeError,
  Order_TimeInForce,
  Order_Type,
  OutcomeUnknownError,
  Side,
  StopOrder_Status,
} from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

/** Blocks beyond those in which the network takes a transaction: the node may be behind. */
const BLOCKS_OF_GRACE = 3n;

/** The status of gRPC for what does not exist. */
const NOT_FOUND = 5;

/**
 * One stop order of a party on a market. The node's list is asked for after each change. It may lag behind the network, so
 * what this program has changed itself counts more. Nothing is sent while it is not known what became of something sent
 * before.
 *
 * @param {import("tradewire").Client} client
 * @param {import("tradewire").Signer} signer
 * @param {{ marketId: string, size: bigint }} order what is sold when the price falls below the trigger
 */
export function createStopOrder(client, signer, { marketId, size }) {
  /** @typedef {{ id: string, trigger: bigint }} Live */
  /** What a transaction changes. @typedef {{ cancels: Live[], places?: bigint }} Change */
  /** @typedef {import("tradewire").Transaction | OutcomeUnknownError} Sent */
  /** The live stop orders; undefined where they are not known. @type {Live[] | undefined} */
  let live;
  /** The newest one, which the node's list may not have yet. @type {Live | undefined} */
  let newest;
  /** Those that have ended, most of them as this program replaced them. The node's list may still have them. */
  const ended = new Set();
  /** A transaction of which it is not known what became. @type {{ sent: Sent, change: Change, until?: bigint } | undefined} */
  let doubt;
  /** Whether there was a live one, as the node or this program said. */
  let isPlaced = false;
  let isOver = false;

  /** @param {import("tradewire").StopOrder} stopOrder @returns {Live} */
  const liveOf = ({ id, trigger }) => ({ id, trigger: trigger.case === "price" ? BigInt(trigger.value) : 0n });

  /**
   * Remember what a transaction has changed.
   *
   * @param {import("tradewire").Outcome} outcome
   * @param {Change} change
   */
  function remember(outcome, { cancels, places }) {
    for (const { path, status, id } of outcome.status === "unknown" ? [] : outcome.parts) {
      if (status === "executed" && path.startsWith("stopOrdersSubmission") && id !== undefined) {
        newest = { id, trigger: places ?? 0n };
        isPlaced = true;
      } else if (status === "executed") {
        const [, index = "0"] = /\[(\d+)\]$/.exec(path) ?? [];
        ended.add(cancels[Number(index)]?.id);
      }
    }
  }

  /** Whether the newest stop order is live. The node does not know it while it lags. @param {string} id */
  async function isLive(id) {
    try {
      const { stopOrder } = await client.stopOrder(id);
      return stopOrder.status === StopOrder_Status.PENDING;
    } catch (reason) {
      if (reason instanceof NodeError && reason.code === NOT_FOUND) {
        return true;
      }
      throw reason;
    }
  }

  /** Find out how things stand; fails while they cannot be known. */
  async function look() {
    if (doubt !== undefined) {
      const outcome = await client.outcome(doubt.sent, { timeoutMs: 5000 });
      const { height, spamPowNumberOfPastBlocks } = await client.service(CoreService).lastBlockHeight({});
      doubt.until ??= height + BigInt(spamPowNumberOfPastBlocks) + BLOCKS_OF_GRACE;
      if (outcome.status === "unknown" && height <= doubt.until) {
        return undefined; // It may still be taken.
      }
      remember(outcome, doubt.change);
      doubt = undefined;
    }
    const found = [];
    const filter = { partyIds: [signer.publicKey], marketIds: [marketId], liveOnly: true };
    for await (const { node } of client.stopOrders({ filter })) {
      if (!ended.has(node.stopOrder.id)) {
        found.push(liveOf(node.stopOrder));
      }
    }
    if (newest !== undefined && !ended.has(newest.id) && !found.some(({ id }) => id === newest?.id)) {
      if (await isLive(newest.id)) {
        found.push(newest);
      } else {
        ended.add(newest.id);
      }
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
   * @param {Live[]} known
   */
  async function haveEnded(known) {
    const others = known.filter(({ id }) => !ended.has(id));
    const found = await look();
    return found !== undefined && others.some(({ id }) => !found.some((other) => other.id === id));
  }

  /**
   * Send a command, and wait for its outcome.
   *
   * @param {import("tradewire").CommandInit} command
   * @param {string} what
   * @param {Change} change
   */
  async function send(command, what, change) {
    live = undefined;
    try {
      const { outcome, transaction } = await client.sendCommand(command, { signer, until: "executed" });
      remember(outcome, change);
      if (outcome.status === "unknown") {
        doubt = { sent: transaction, change };
      } else if (outcome.status !== "executed") {
        throw new Error(`${what}: ${outcome.reason}\nLook at the position and the stop orders of ${signer.publicKey}.`);
      }
      console.log(outcome.status === "executed" ? what : `${what}: not known yet`);
    } catch (reason) {
      if (!(reason instanceof OutcomeUnknownError)) {
        throw reason;
      }
      doubt = { sent: reason, change };
      console.log(`${what}: not known yet`);
    }
  }

  /** @param {Live} stopOrder */
  const cancellation = ({ id }) => ({ marketId, stopOrderId: id });

  return {
    /** Forget what is known, as after a lost connection. */
    forget() {
      live = undefined;
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
          isOver = true;
          return;
        }
        const sell = { side: Side.SELL, type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC, reduceOnly: true };
        const fallsBelow = {
          orderSubmission: { marketId, size, ...sell },
          trigger: /** @type {const} */ ({ case: "price", value: String(level) }),
        };
        const value = { stopOrdersCancellation: known.map(cancellation), stopOrdersSubmission: [{ fallsBelow }] };
        const change = { cancels: known, places: level };
        await send({ case: "batchMarketInstructions", value }, `stop order at ${level}`, change).catch(
          async (reason) => {
            if (reason instanceof ConnectionError || !(await haveEnded(known))) {
              throw reason;
            }
            isOver = true;
          },
        );
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
      if (told?.partyId !== signer.publicKey || ended.has(told.id)) {
        return;
      }
      if (told.status === StopOrder_Status.PENDING) {
        newest = liveOf(told);
        isPlaced = true;
        return;
      }
      ended.add(told.id);
      if (doubt?.change.cancels.some(({ id }) => id === told.id)) {
        return; // It may have been replaced.
      }
      if (newest?.id === told.id || live?.some(({ id }) => id === told.id)) {
        live = undefined; // The other half of a pair ends with it.
        isOver = true;
      }
    },

    /** Cancel the stop order, if there is one. */
    async takeBack() {
      const known = live ?? (await look().catch(() => undefined));
      if (known === undefined) {
        throw new Error("whether there is a stop order is not known\nLook for it, and cancel it by hand.");
      }
      for (const one of known) {
        const command = /** @type {const} */ ({ case: "stopOrdersCancellation", value: cancellation(one) });
        await send(command, "stop order taken back", { cancels: [one] }).catch(async (reason) => {
          if (!(await haveEnded([one]))) {
            throw reason;
          }
          console.log("the stop order has come to its end");
        });
      }
    },
  };
}
