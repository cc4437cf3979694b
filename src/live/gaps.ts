import { ProtocolError } from "../errors/index.js";
import type { LiveEvent } from "./live-event.js";

/**
 * A gap in a stream of events: the connection was lost there. Events of blocks after `afterBlock` and before
 * `beforeBlock` may be missing; they can be had from network history, once a segment has them.
 */
export interface Gap {
  readonly gap: {
    /**
     * The last block that is known to have come whole: the one before that of the last event, or that block itself
     * where its `endBlock` event has come. `undefined` where nothing had come.
     */
    readonly afterBlock: bigint | undefined;
    /**
     * The first block that is known to come whole: the one behind that of the first event after the gap, or that block
     * itself where its `beginBlock` event came first.
     */
    readonly beforeBlock: bigint;
  };
}

/** The blocks whose hashes are remembered, to tell repeated events from those of another history. */
const REMEMBERED_BLOCKS = 1000;

/** What is known of a stream of events by the places of those that have come. */
export interface Places {
  /** Tell the gap before an event, if there is one, and whether the event came before the gap already. */
  place(event: LiveEvent): { readonly gap: Gap | undefined; readonly isRepeated: boolean };
  /** The connection was lost. */
  lost(): void;
  /** The last block that is known to have come whole. */
  wholeBlock(): bigint | undefined;
}

/**
 * Make what follows the places of events. It keeps the same little memory however many events there are.
 *
 * Nodes may send the events of a block in another order than that of their identifiers, as they handle each type by
 * itself. So an event is known as repeated only where it is not behind all that came over earlier connections.
 *
 * @returns the places, before the first event
 */
export function createPlaces(): Places {
  const hashes = new Map<bigint, string>();
  let last: LiveEvent | undefined;
  let lastEnded: bigint | undefined;
  let seenBefore: LiveEvent | undefined;
  let isLost = false;

  function wholeBlock(): bigint | undefined {
    return last === undefined || last.block === lastEnded ? lastEnded : last.block - 1n;
  }

  function gapBefore({ case: type, block }: LiveEvent): Gap | undefined {
    const afterBlock = wholeBlock();
    const beforeBlock = type === "beginBlock" ? block : block + 1n;
    const isNone = afterBlock !== undefined && beforeBlock <= afterBlock + 1n;
    return isNone ? undefined : { gap: { afterBlock, beforeBlock } };
  }

  return {
    place(event) {
      const gap = isLost ? gapBefore(event) : undefined;
      isLost = false;
      const isRepeated = seenBefore !== undefined && !isBehind(event, seenBefore);
      if (isRepeated) {
        requireSameHistory(event, hashes.get(event.block));
      }
      if (last === undefined || isBehind(event, last)) {
        last = event;
        hashes.set(event.block, event.blockHash);
        dropOldest(hashes);
      }
      if (event.case === "endBlock" && event.block >= (lastEnded ?? event.block)) {
        lastEnded = event.block;
      }
      return { gap, isRepeated };
    },
    lost() {
      isLost = true;
      seenBefore = last;
    },
    wholeBlock,
  };
}

function isBehind(event: LiveEvent, other: LiveEvent): boolean {
  return event.block > other.block || (event.block === other.block && event.sequence > other.sequence);
}

function dropOldest(hashes: Map<bigint, string>): void {
  const [oldest] = hashes.keys();
  if (hashes.size > REMEMBERED_BLOCKS && oldest !== undefined) {
    hashes.delete(oldest);
  }
}

/** Refuse an event that looks repeated but is of another history, as where the chain has begun anew. */
function requireSameHistory({ id, block, blockHash }: LiveEvent, known: string | undefined): void {
  if (known !== undefined && known !== blockHash) {
    throw new ProtocolError(`event ${id} is of another block ${block} than the one that came before`, {
      advice: "The node's chain has begun anew, or the address leads to nodes of different chains. Begin anew, too.",
    });
  }
}
