import { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { ProtocolError } from "../../base/errors/index.js";
import { toConnectOptions } from "../../base/input/call-options.js";
import { type Moment, moment, passedMs } from "../../base/runtime/index.js";
import type { ObservedNode } from "../live/execution.js";

/** Maximum difference of the chain's time from the expected time, in milliseconds: blocks may be late, and nodes may lag. */
const TOLERANCE_MS = 60_000;

/** Maximum number of requests for the first time of a chain. */
const MAX_READINGS = 5;

/**
 * The known time of the chain: the time of its latest block, in Unix nanoseconds.
 *
 * A single wrong response must not change it: leases would end early, or only after years. The first reading is
 * accepted once the next one confirms it. A later one is accepted if it is at most a minute before the latest one, or
 * after it by at most a minute plus twice the time that has passed on this machine.
 */
export interface ChainClock {
  /** Returns the latest accepted time; `undefined` if there is none yet. */
  latest(): bigint | undefined;
  /** Adds the time of a block, and returns whether it is accepted. An older one changes nothing. */
  note(time: bigint): boolean;
  /**
   * Requests the time from a node, and adds it.
   *
   * @throws {@link ProtocolError} if the node's time is not accepted
   */
  read(node: ObservedNode, signal: AbortSignal): Promise<bigint>;
}

/** A time of the chain, and when it was read first. */
interface ClockReading {
  readonly time: bigint;
  readonly at: Moment;
}

/** Creates a clock without a time. */
export function createChainClock(): ChainClock {
  let known: ClockReading | undefined;
  let unconfirmed: ClockReading | undefined;

  function note(time: bigint): boolean {
    const reference = known ?? unconfirmed;
    if (reference === undefined || !follows(time, reference)) {
      unconfirmed = known === undefined ? { time, at: moment() } : undefined;
      return false;
    }
    if (known === undefined || time > known.time) {
      known = { time, at: moment() };
    }
    return true;
  }

  return {
    latest: () => known?.time,
    note,
    async read({ service }, signal) {
      for (let readings = 1; ; readings += 1) {
        const { timestamp } = await service(CoreService).getVegaTime({}, toConnectOptions({ signal }));
        if (timestamp > 0n && note(timestamp) && known !== undefined) {
          return known.time;
        }
        if (known !== undefined || readings === MAX_READINGS) {
          throw wrongTime(timestamp, known?.time);
        }
      }
    },
  };
}

/** Returns whether a time may follow a reading. */
function follows(time: bigint, { time: before, at }: ClockReading): boolean {
  const aheadMs = Number(time - before) / 1e6;
  return aheadMs >= -TOLERANCE_MS && aheadMs <= TOLERANCE_MS + 2 * passedMs(at);
}

function wrongTime(time: bigint, known: bigint | undefined): ProtocolError {
  const compared = known === undefined ? "but no second response confirms it" : `but the previous one was ${known}`;
  return new ProtocolError(`the node reports the chain time ${time}, ${compared}`, {
    advice: "Use another node, and report this to the operator of the node.",
  });
}
