import { recordsOf } from "../csv/decode.js";
import type { CsvRecord } from "../csv/format.js";
import { CanceledError, RequestError, TradewireError } from "../errors/index.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRecord, TypedRow, TypedValue } from "../schema/typed-row.js";
import { followingController } from "../signal/follow.js";
import { requireGoing, wait } from "../signal/wait.js";
import { type CheckedFollow, checkFollow } from "./check-follow.js";
import type {
  FollowClient,
  FollowedRows,
  FollowedSegment,
  Following,
  FollowOptions,
  FollowRequest,
  TypedFollowOptions,
} from "./follow.js";
import { type FollowPosition, type PartOfSegment, writeCursor } from "./follow-position.js";
import { createMending } from "./mending.js";
import { nextSegments } from "./next-segments.js";
import { segmentRows } from "./segment-rows.js";

/**
 * Make what follows tables of a node's history.
 *
 * @param client asks the node
 * @returns `follow`
 */
export function createFollowing(client: FollowClient): Following {
  function follow(request: FollowRequest, options?: FollowOptions): AsyncIterable<FollowedRows<CsvRecord>>;
  function follow<Table extends TableName>(
    request: FollowRequest<Table>,
    options: TypedFollowOptions,
  ): AsyncIterable<FollowedRows<TypedRow<Table>>>;
  function follow(
    request: FollowRequest,
    options: FollowOptions | TypedFollowOptions = {},
  ): AsyncIterable<FollowedRows<TypedRecord>> {
    const asked = checkFollow(request, options);
    return {
      [Symbol.asyncIterator]() {
        const ending = followingController(options.signal);
        const items = followed(client, asked, ending);
        return {
          next: () => items.next(),
          async return() {
            ending.abort(); // A generator first waits for what it was asked for, which may take for ever.
            await items.return();
            return { done: true, value: undefined };
          },
        };
      },
    };
  }

  return { follow };
}

async function* followed(
  client: FollowClient,
  asked: CheckedFollow,
  ending: AbortController,
): AsyncGenerator<FollowedRows<TypedRecord>, void, undefined> {
  const { table, fromBlock, toBlock, pollMs, tell, typed, calling, reading } = asked;
  const { signal } = ending;
  const recordOf = recordsOf<TypedValue>();
  const mending = createMending(asked.attempts);
  let { position } = asked;

  async function* rowsOf(segment: FollowedSegment): AsyncGenerator<FollowedRows<TypedRecord>, void, undefined> {
    const given = position?.segmentId === segment.id ? position.part : undefined;
    let columns: readonly string[] = [];
    for await (const some of segmentRows(client, segment, given, { ...calling, ...reading, typed, signal })) {
      columns = some.columns;
      position = positionIn(segment, some.partAfter(some.rows.length));
      mending.progressed();
      const rows = some.rows.map((row) => recordOf(row, some.columns));
      yield {
        rows,
        columns,
        segment,
        complete: false,
        cursor: writeCursor(position),
        cursorAfter: (count) => writeCursor(positionIn(segment, some.partAfter(checkCount(count, rows.length)))),
      };
    }
    position = positionIn(segment, undefined);
    mending.progressed();
    const cursor = writeCursor(position);
    const cursorAfter = (count: number) => {
      checkCount(count, 0);
      return cursor;
    };
    yield { rows: [], columns, segment, complete: true, cursor, cursorAfter };
  }

  try {
    while (!isDone(position, toBlock)) {
      requireGoing(signal);
      try {
        const listed = await client.listSegments({ ...calling, signal });
        const next = nextSegments(listed, { position, fromBlock, toBlock });
        for (const each of next.segments) {
          const segment = { ...each, chainId: next.chainId, table };
          tell({ case: "began", segment });
          yield* rowsOf(segment);
        }
        if (next.segments.length === 0) {
          mending.progressed();
          tell({ case: next.isBehind ? "behind" : "idle", againMs: pollMs });
          await wait(pollMs, signal);
        }
      } catch (reason) {
        requireGoing(signal);
        if (!(reason instanceof TradewireError)) {
          throw reason;
        }
        const againMs = mending.restMs(reason);
        tell({ case: "waiting", error: reason, againMs });
        await wait(againMs, signal);
      }
    }
  } catch (reason) {
    if (asked.signal?.aborted === true) {
      throw new CanceledError({ cause: asked.signal.reason });
    }
    if (!signal.aborted) {
      throw reason; // Otherwise the caller has left.
    }
  } finally {
    ending.abort();
  }
}

/** Whether a position is behind all that is wanted. */
function isDone(position: FollowPosition | undefined, toBlock: bigint | undefined): boolean {
  if (position === undefined || toBlock === undefined) {
    return false;
  }
  return position.part === undefined ? position.toBlock >= toBlock : position.fromBlock > toBlock;
}

function positionIn(segment: FollowedSegment, part: PartOfSegment | undefined): FollowPosition {
  const { chainId, table, fromBlock, toBlock, id } = segment;
  return { chainId, table, fromBlock, toBlock, segmentId: id, part };
}

function checkCount(count: number, most: number): number {
  if (!Number.isSafeInteger(count) || count < 0 || count > most) {
    throw new RequestError(`there is no cursor behind ${count} of ${most} rows`, {
      advice: `Give a whole number from 0 to ${most}.`,
    });
  }
  return count;
}
