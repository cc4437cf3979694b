import type { SyncClient } from "../options.js";
import type { Budget } from "./budget.js";
import type { Database } from "./database.js";
import { takeCall } from "./node-state.js";

/**
 * Name nodes, by which all workers share what they know of them.
 *
 * @param clients the nodes' clients
 * @returns a name for each
 */
export function nodeNames(clients: readonly SyncClient[]): string[] {
  return clients.map(({ name }, index) => name ?? (clients.length === 1 ? "the node" : `node ${index + 1}`));
}

/**
 * Make clients whose listings are taken from the calls that all planners and workers may make together.
 *
 * @param db the queue
 * @param clients the nodes' clients
 * @param budget how many calls
 * @param signal ends the wait for a call
 * @returns the clients
 */
export function politeListings(
  db: Database,
  clients: readonly SyncClient[],
  budget: Budget,
  signal: AbortSignal,
): SyncClient[] {
  const names = nodeNames(clients);
  return clients.map((client, index) => ({
    name: names[index],
    exportNetworkHistory: (request, options) => client.exportNetworkHistory(request, options),
    ...(client.dataNodeLag && { dataNodeLag: client.dataNodeLag.bind(client) }),
    async listSegments(options) {
      await takeCall(db, names[index] ?? "", budget, options?.signal ?? signal);
      return client.listSegments(options);
    },
  }));
}
