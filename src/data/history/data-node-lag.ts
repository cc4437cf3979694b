import type { CallOptions, Client as ConnectClient } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { CanceledError, TradewireError } from "../../base/errors/index.js";
import { unixMs } from "../../base/runtime/index.js";

/** How the last block of a data node compares with that of its core, and with this machine's clock. */
export interface DataNodeLag {
  /**
   * - `current`: the data node has the core's last blocks, and they are recent.
   * - `lagging`: the data node's last block is older than the core's. It keeps answering with old state.
   * - `stalled`: the data node has the core's last block, which is old by this machine's clock: the network makes no
   *   blocks, the core is catching up, or the network has its own clock, like a local node.
   * - `old`: the data node's last block is old, and the core did not answer.
   *
   * Up to 10 seconds count as recent.
   */
  readonly state: "current" | "lagging" | "stalled" | "old";
  /** When the data node's last block was made, in Unix nanoseconds. */
  readonly dataNodeTime: bigint;
  /** When the core's last block was made, in Unix nanoseconds; absent if the core did not answer. */
  readonly coreTime?: bigint;
  /** How much older the data node's last block is than the core's, in milliseconds; absent if the core did not answer. */
  readonly behindCoreMs?: number;
  /** How old the core's last block is, in milliseconds; that of the data node if the core did not answer. */
  readonly behindClockMs: number;
}

/** The calls that return the times of the last blocks. They throw the library's errors. */
export interface LagServices {
  readonly core: Pick<ConnectClient<typeof CoreService>, "getVegaTime">;
  readonly data: Pick<ConnectClient<typeof TradingDataService>, "getVegaTime">;
}

/** Maximum age of a block that counts as recent, in milliseconds. */
const MAX_LAG_MS = 10_000;

/**
 * Compares the last block of a data node with that of its core, and with the clock: a data node that stopped writing
 * keeps answering with old state.
 *
 * @throws the error of the call to the data node, and {@link CanceledError}
 */
export async function measureLag({ core, data }: LagServices, options: CallOptions): Promise<DataNodeLag> {
  const [stored, made] = await Promise.all([data.getVegaTime({}, options), coreTimeOf(core, options)]);
  const { timestamp: dataNodeTime } = stored;
  const behindClockMs = unixMs() - milliseconds(made ?? dataNodeTime);
  const isOld = behindClockMs > MAX_LAG_MS;
  if (made === undefined) {
    return { state: isOld ? "old" : "current", dataNodeTime, behindClockMs };
  }
  const behindCoreMs = milliseconds(made - dataNodeTime);
  const state = behindCoreMs > MAX_LAG_MS ? "lagging" : isOld ? "stalled" : "current";
  return { state, dataNodeTime, coreTime: made, behindCoreMs, behindClockMs };
}

export function describeLag({ state, coreTime, behindCoreMs = 0, behindClockMs }: DataNodeLag): string {
  switch (state) {
    case "current":
      return coreTime === undefined
        ? "has a recent block, but the core's last block is unknown"
        : "has the core's last blocks";
    case "lagging": {
      const old = behindClockMs > MAX_LAG_MS ? `, which is itself ${age(behindClockMs)} old` : "";
      return `lags: its last block is ${age(behindCoreMs)} older than the core's${old}`;
    }
    case "stalled":
      return `has the core's last block, which is ${age(behindClockMs)} old: the network makes no blocks, the core lags, or its clock differs from this machine's`;
    case "old":
      return `lags, or the network makes no blocks: its last block is ${age(behindClockMs)} old, and the core's is unknown`;
  }
}

async function coreTimeOf(core: LagServices["core"], options: CallOptions): Promise<bigint | undefined> {
  try {
    return (await core.getVegaTime({}, options)).timestamp;
  } catch (reason) {
    if (reason instanceof TradewireError && !(reason instanceof CanceledError)) {
      return undefined;
    }
    throw reason;
  }
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}

function age(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const units = [
    { name: "days", size: 86_400 },
    { name: "h", size: 3600 },
    { name: "min", size: 60 },
  ];
  const unit = units.find(({ size }) => seconds >= 2 * size) ?? { name: "s", size: 1 };
  return `${Math.round(seconds / unit.size)} ${unit.name}`;
}
