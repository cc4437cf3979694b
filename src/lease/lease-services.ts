import { Code, type Client as ConnectClient } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { NodeError, ProtocolError } from "../errors/index.js";
import { monotonicMs } from "../runtime/index.js";
import type { LeaseEvent } from "./lease-options.js";

/** The records of a data node that leases need. The calls throw the library's errors. */
export type LeaseDataService = Pick<
  ConnectClient<typeof TradingDataService>,
  "getLatestMarketData" | "getNetworkParameter" | "getOrder" | "getStopOrder" | "listStopOrders"
>;

/** Receives what happens to leases. */
export interface LeaseEvents {
  readonly emit: (event: LeaseEvent) => void;
}

/** The limits of the network that renewals keep to. Governance can change them. */
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

/** For how long limits are believed, in milliseconds. */
const MAX_AGE_MS = 60_000;

/**
 * Creates the function that reads the limits of the network, once a minute at most. A node that does not answer later changes
 * nothing: the last known limits serve, so that renewals go on.
 *
 * @param data the data node
 * @returns the function. It throws a {@link ProtocolError} if a parameter is not a whole number, and what the calls throw
 */
export function createLimits(data: LeaseDataService): (signal: AbortSignal) => Promise<LeaseLimits> {
  let known: { readonly limits: LeaseLimits; readonly readAt: number } | undefined;
  return async (signal) => {
    if (known !== undefined && monotonicMs() < known.readAt + MAX_AGE_MS) {
      return known.limits;
    }
    try {
      const limits = await readLimits(data, signal);
      known = { limits, readAt: monotonicMs() };
      return limits;
    } catch (reason) {
      if (known === undefined) {
        throw reason;
      }
      return known.limits;
    }
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
  const value = await data.getNetworkParameter({ key }, { signal }).then(
    ({ networkParameter }) => networkParameter?.value,
    (reason: unknown) => {
      if (reason instanceof NodeError && reason.code === Code.NotFound) {
        return undefined;
      }
      throw reason;
    },
  );
  if (value !== undefined && !/^\d{1,9}$/.test(value)) {
    throw new ProtocolError(`the network parameter ${key} is no whole number`, {
      advice: "Try another node, and report it to who runs this one.",
    });
  }
  return value === undefined ? otherwise : Number(value);
}
