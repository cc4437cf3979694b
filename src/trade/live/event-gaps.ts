import { ProtocolError } from "../../base/errors/index.js";
import { withJson } from "../../base/json-result.js";
import { setBounded } from "../../base/signal/collections.js";
import type { LiveEvent } from "./event-types.js";

/**
 * A gap in a stream of events: the connection was lost there. Events of blocks after `afterBlock` and before
 * `beforeBlock` may be missing; network history has them once a segment contains the blocks.
 */
export interface Gap {
  readonly gap: {
    /**
     * The block before the last event's block, because more events of that last block may be missing. `undefined` if no
     * event had arrived.
     */
    readonly afterBlock: bigint | undefined;
    /**
     * The block after the first event's block after the gap, because some events of that block may have been sent
     * earlier.
     */
    readonly beforeBlock: bigint;
  };
}

/** Maximum number of blocks whose hashes are stored, to distinguish repeated events from those of another history. */
const MAX_STORED_BLOCKS = 1000;

/** Finds gaps and repeated events in a stream by the positions of its events. */
export interface GapTracker {
  /** Returns the gap before an event, if there is one, and whether the event was received before the gap. */
  track(event: LiveEvent): { readonly gap: Gap | undefined; readonly isRepeated: boolean };
  /** Reports that the connection was lost. */
  connectionLost(): void;
  /** Returns the last block whose events have certainly all arrived. */
  lastCompleteBlock(): bigint | undefined;
}

type Connection =
  /** No event has arrived over this connection or an earlier one. */
  | { readonly kind: "no event"; readonly last: undefined }
  /** The latest event of this connection. */
  | { readonly kind: "receiving"; readonly last: LiveEvent }
  /** The connection was lost, and the next event comes after a gap. `last` is the latest event before the gap. */
  | { readonly kind: "after loss"; readonly last: LiveEvent | undefined };

interface Earlier {
  /** The number of connections that were lost. */
  readonly connections: number;
  /** The latest event of all of them. */
  readonly last: LiveEvent | undefined;
  /** All events from this block to the last one have arrived. */
  readonly completeFrom: bigint;
}

/**
 * Creates a tracker of the positions of events. Its memory does not grow with the number of events.
 *
 * Nodes may send the events of a block in a different order than their identifiers, because they process each type separately. So
 * the first and the last block of a connection may be incomplete, even if their `beginBlock` and `endBlock` events arrived. An
 * event is a duplicate only if it does not come after all events of earlier connections, and they included events of its block.
 */
export function createGapTracker(): GapTracker {
  const blocks = createBlockStore();
  let connection: Connection = { kind: "no event", last: undefined };
  let earlier: Earlier = { connections: 0, last: undefined, completeFrom: 0n };

  return {
    track(event) {
      const { block, blockHash } = event;
      const gap = connection.kind === "after loss" ? gapBefore(event, connection.last) : undefined;
      const isRepeated =
        earlier.last !== undefined &&
        !isBehind(event, earlier.last) &&
        isOfEarlierConnection(event, blocks, { ...earlier, last: earlier.last });
      const isFirst = connection.kind !== "receiving";
      if (isFirst && (earlier.last === undefined || block >= earlier.last.block)) {
        // If the connection starts further back, what came before is as complete as it was.
        earlier = { ...earlier, completeFrom: block + 1n };
      }
      if (connection.kind !== "receiving" || isBehind(event, connection.last)) {
        connection = { kind: "receiving", last: event };
      }
      blocks.add(block, blockHash, earlier.connections);
      return { gap, isRepeated };
    },
    connectionLost() {
      const { last } = connection;
      const isLatest = last !== undefined && (earlier.last === undefined || isBehind(last, earlier.last));
      earlier = { ...earlier, connections: earlier.connections + 1, last: isLatest ? last : earlier.last };
      connection = { kind: "after loss", last };
    },
    lastCompleteBlock: () => blockBefore(connection.last),
  };
}

interface StoredBlock {
  readonly hash: string;
  /** The number of the connection over which its first event arrived. */
  readonly connection: number;
}

interface BlockStore {
  get(block: bigint): StoredBlock | undefined;
  /** Stores a block, unless it is stored already. */
  add(block: bigint, hash: string, connection: number): void;
  /** Returns whether a block may have been stored and dropped since. */
  mayHaveDropped(block: bigint): boolean;
}

function createBlockStore(): BlockStore {
  const blocks = new Map<bigint, StoredBlock>();
  let highestDropped = -1n;
  return {
    get: (block) => blocks.get(block),
    add(block, hash, connection) {
      if (!blocks.has(block)) {
        const dropped = setBounded(blocks, block, { hash, connection }, MAX_STORED_BLOCKS);
        highestDropped = dropped !== undefined && dropped > highestDropped ? dropped : highestDropped;
      }
    },
    mayHaveDropped: (block) => block <= highestDropped,
  };
}

/**
 * Returns whether an event that does not come after those of earlier connections was among them. Throws if it belongs to
 * another history, for example after the chain was restarted.
 */
function isOfEarlierConnection(
  { id, block, blockHash }: LiveEvent,
  blocks: BlockStore,
  earlier: Earlier & { readonly last: LiveEvent },
): boolean {
  const stored = blocks.get(block);
  if (stored === undefined) {
    if (blocks.mayHaveDropped(block)) {
      throw otherHistory(`event ${id} arrived after event ${earlier.last.id} and is too old to check for duplicates`);
    }
    if (block >= earlier.completeFrom) {
      throw otherHistory(`event ${id} precedes event ${earlier.last.id}, but did not arrive before it`);
    }
    return false;
  }
  if (stored.hash !== blockHash) {
    throw otherHistory(`event ${id} has another hash of block ${block} than earlier events`);
  }
  return stored.connection !== earlier.connections;
}

function gapBefore({ block }: LiveEvent, last: LiveEvent | undefined): Gap {
  const before = last !== undefined && last.block > block ? last.block : block;
  return withJson({ gap: { afterBlock: blockBefore(last), beforeBlock: before + 1n } });
}

function blockBefore(event: LiveEvent | undefined): bigint | undefined {
  return event && event.block - 1n;
}

/** Returns whether an event comes after another by its block and its sequence number. */
function isBehind(event: LiveEvent, other: LiveEvent): boolean {
  return event.block > other.block || (event.block === other.block && event.sequence > other.sequence);
}

function otherHistory(summary: string): ProtocolError {
  return new ProtocolError(summary, {
    advice: "The node's chain was reset, or the address leads to nodes of different chains. Start over.",
  });
}
