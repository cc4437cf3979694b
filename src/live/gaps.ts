import { ProtocolError } from "../errors/index.js";
import { setBounded } from "../signal/set-bounded.js";
import type { LiveEvent } from "./live-event.js";

/**
 * A gap in a stream of events: the connection was lost there. Events of blocks after `afterBlock` and before
 * `beforeBlock` may be missing; they can be had from network history, once a segment has them.
 */
export interface Gap {
  readonly gap: {
    /**
     * The block before that of the last event: of that block, more may have been to come. `undefined` where nothing had
     * come.
     */
    readonly afterBlock: bigint | undefined;
    /** The block behind that of the first event after the gap: of that block, some may have been sent before. */
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
 * itself. So neither the first nor the last block of a connection is known to be whole, whatever its `beginBlock` and
 * `endBlock` events seem to say; and an event is known as repeated only where it is not behind all that came over earlier
 * connections, and events of its block were among them.
 *
 * @returns the places, before the first event
 */
export function createPlaces(): Places {
  const blocks = new Map<bigint, { readonly hash: string; readonly connection: number }>();
  let connection = 0;
  /** The highest block whose hash is forgotten. */
  let forgotten = -1n;
  /** From this block on up to that of `seenBefore`, all events came. */
  let wholeFrom = 0n;
  /** The last event of the connection, by its place, or that of the one before, where nothing came yet. */
  let last: LiveEvent | undefined;
  let seenBefore: LiveEvent | undefined;
  let isLost = false;

  function gapBefore({ block }: LiveEvent): Gap {
    const before = last !== undefined && last.block > block ? last.block : block;
    return { gap: { afterBlock: wholeBlock(), beforeBlock: before + 1n } };
  }

  function wholeBlock(): bigint | undefined {
    return last === undefined ? undefined : last.block - 1n;
  }

  /** Whether an event came before. One that belongs to another history is refused, as where the chain has begun anew. */
  function isRepeated(event: LiveEvent): boolean {
    const { id, block, blockHash } = event;
    if (seenBefore === undefined || isBehind(event, seenBefore)) {
      return false;
    }
    const known = blocks.get(block);
    if (known !== undefined && known.hash !== blockHash) {
      throw otherHistory(`event ${id} is of another block ${block} than the one that came before`);
    }
    if (known === undefined && block <= forgotten) {
      throw otherHistory(`event ${id} is too far behind event ${seenBefore.id} to tell whether it came before`);
    }
    if (known === undefined && block >= wholeFrom) {
      throw otherHistory(`event ${id} was not among those that came of the blocks up to event ${seenBefore.id}`);
    }
    return known !== undefined && known.connection !== connection;
  }

  return {
    place(event) {
      const { block, blockHash } = event;
      const gap = isLost ? gapBefore(event) : undefined;
      const isFirst = isLost || last === undefined;
      const placed = { gap, isRepeated: isRepeated(event) };
      isLost = false;
      if (isFirst && (seenBefore === undefined || block >= seenBefore.block)) {
        wholeFrom = block + 1n; // Where it goes back, what came before is as whole as it was.
      }
      if (isFirst || last === undefined || isBehind(event, last)) {
        last = event;
      }
      if (!blocks.has(block)) {
        const oldest = setBounded(blocks, block, { hash: blockHash, connection }, REMEMBERED_BLOCKS);
        forgotten = oldest !== undefined && oldest > forgotten ? oldest : forgotten;
      }
      return placed;
    },
    lost() {
      isLost = true;
      connection += 1;
      if (last !== undefined && (seenBefore === undefined || isBehind(last, seenBefore))) {
        seenBefore = last;
      }
    },
    wholeBlock,
  };
}

function isBehind(event: LiveEvent, other: LiveEvent): boolean {
  return event.block > other.block || (event.block === other.block && event.sequence > other.sequence);
}

function otherHistory(summary: string): ProtocolError {
  return new ProtocolError(summary, {
    advice: "The node's chain has begun anew, or the address leads to nodes of different chains. Begin anew, too.",
  });
}
