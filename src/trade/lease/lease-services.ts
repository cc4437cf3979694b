import type { Client as ConnectClient } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { undefinedIf } from "../../base/errors/not-found.js";
import { monotonicMs } from "../../base/runtime/index.js";
import type { LeaseEvent } from "./lease-options.js";

/** The records of a data node that leases need. The calls throw the library's errors. */
export type LeaseDataService = Pick<
  ConnectClient<typeof TradingDataService>,
  "getLatestMarketData" | "getNetworkParameter" | "getOrder" | "getStopOrder" | "getVegaTime" | "listStopOrders"
>;

/** Receives the events of the leases. */
export interface LeaseEvents {
  readonly emit: (event: LeaseEvent) => void;
}

/** The network limits that renewals respect. Governance can change them. */
export interface LeaseLimits {
  /** The maximum number of instructions of a batch. */
  readonly batchSize: number;
  /** The maximum number of stop orders of a party on a market. */
  readonly stopOrders: number;
}

/** The names and defaults of the limits (v0.78.0, core/netparams/keys.go and defaults.go). */
const LIMITS = {
  batchSize: { key: "spam.protection.max.batchSize", otherwise: 15 },
  stopOrders: { key: "spam.protection.max.stopOrdersPerMarket", otherwise: 4 },
} as const;

/** The time between two readings of the limits, in milliseconds. */
const READ_EVERY_MS = 60_000;

/**
 * Creates the function that reads the limits of the network, at most once a minute. Only the first reading is awaited: later, the
 * last known limits are used, so that renewals continue even if a node does not respond.
 */
export function createLimits(data: LeaseDataService): (signal: AbortSignal) => Promise<LeaseLimits> {
  let known: LeaseLimits | undefined;
  let readAt = 0;
  const read = async (signal: AbortSignal) => {
    readAt = monotonicMs();
    known = await readLimits(data, signal);
    return known;
  };
  return async (signal) => {
    if (known === undefined) {
      return read(signal);
    }
    if (monotonicMs() >= readAt + READ_EVERY_MS) {
      read(signal).catch(() => undefined); // The next reading may succeed.
    }
    return known;
  };
}

async function readLimits(data: LeaseDataService, signal: AbortSignal): Promise<LeaseLimits> {
  const [batchSize, stopOrders] = await Promise.all([
    readParameter(data, LIMITS.batchSize, signal),
    readParameter(data, LIMITS.stopOrders, signal),
  ]);
  return { batchSize: Math.max(batchSize, 2), stopOrders };
}

async function readParameter(
  data: LeaseDataService,
  { key, otherwise }: (typeof LIMITS)[keyof typeof LIMITS],
  signal: AbortSignal,
): Promise<number> {
  const answer = await data.getNetworkParameter({ key }, { signal }).catch(undefinedIf(Code.NotFound));
  const value = answer?.networkParameter?.value;
  if (value !== undefined && !/^\d{1,9}$/.test(value)) {
    throw new ProtocolError(`the network parameter ${key} is not a whole number`, {
      advice: "Use another node, and report this to the operator of the node.",
    });
  }
  return value === undefined ? otherwise : Number(value);
}
