// @ts-check
// The code under test: how your program reacts to the client's responses.
import { ConnectionError, NodeError, OutcomeUnknownError, ProtocolError } from "tradewire";

/**
 * Save a day's trades, or say that it has to be tried again later.
 *
 * @param {import("tradewire").Client} client
 * @param {{ fromBlock: number, toBlock: number }} range
 * @param {string} folder
 */
export async function archiveTrades(client, range, folder) {
  try {
    const { path } = await client.exportNetworkHistory({ table: "trades", ...range }).saveTo(folder);
    return { path };
  } catch (reason) {
    if (reason instanceof ConnectionError || reason instanceof ProtocolError || reason instanceof NodeError) {
      return { later: reason.summary };
    }
    throw reason; // The range is wrong, or the disk is full: later is no better.
  }
}

/**
 * Place an order once, whatever happens.
 *
 * @param {import("tradewire").Client} client
 * @param {import("tradewire").Signer} signer
 * @param {import("tradewire").CommandInit} command
 * @returns {Promise<string>} what became of it
 */
export async function place(client, signer, command) {
  try {
    const { outcome } = await client.sendCommand(command, { signer, until: "executed" });
    return outcome.status === "executed" ? "executed" : `${outcome.status}: ${outcome.reason}`;
  } catch (reason) {
    if (reason instanceof OutcomeUnknownError) {
      const { status } = await client.outcome(reason);
      return status;
    }
    if (reason instanceof ConnectionError) {
      return `not sent: ${reason.summary}`;
    }
    throw reason;
  }
}
