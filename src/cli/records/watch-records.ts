import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, RequestError, TradewireError } from "../../base/errors/index.js";
import { reactionTo } from "../../base/errors/reaction.js";
import { startTimer, unixMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { setBounded } from "../../base/signal/collections.js";
import { backoffMs, createFlag, endTogether, wait } from "../../base/signal/wait.js";
import { isOlder, type RecordAge } from "../../trade/live/listed-blocks.js";
import { reconnect } from "../../trade/live/reconnect.js";
import type { LineWriter } from "../client.js";
import type { OptionValues } from "../declarations.js";
import { clock } from "../formatting.js";
import { type PrintedType, wordsOf } from "../listing.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import type { OutputOptions } from "../output-format.js";
import { createDisplay, type Display, sizeOf } from "../progress.js";
import { followOption, watchOption } from "../shared-options.js";
import { describeOmissions, fitTable, type LaidOut, rankedPlaces } from "../table.js";

/** Records that change, and the streams of their changes. */
export interface WatchedRecords<M extends DescMessage> {
  readonly type: PrintedType<M>;
  /** Lists the records, as many as the command shows, after the decimals of their markets were loaded. */
  list(signal: AbortSignal): AsyncIterable<MessageShape<M>>;
  /**
   * The streams of changes. Each is opened again after a lost connection. `relist` requests another listing, for
   * changes that the stream does not contain.
   */
  readonly streams: readonly ((
    connection: AbortSignal,
    relist: () => void,
  ) => AsyncIterable<readonly MessageShape<M>[]>)[];
  /** Identifies a record. */
  key(record: MessageShape<M>): string;
  /** Returns when a record was changed last, where records have a time of it. */
  ageOf?(record: MessageShape<M>): RecordAge;
  /** The time of creation, in nanoseconds, if the newest records come first. */
  createdAt?(record: MessageShape<M>): bigint;
  /** Returns whether a changed record is still among those that the user asked for. */
  matches(record: MessageShape<M>): boolean;
  /** The maximum number of records that are remembered and shown. */
  readonly limit: number;
}

/** How changes are printed: a table that is redrawn in place, or lines of JSON. */
export type WatchOutput =
  | { readonly kind: "table"; readonly notes: LineWriter; readonly display: Display }
  | { readonly kind: "jsonl"; readonly notes: LineWriter };

/** The options of commands that print what changes. */
export const watchOptions = { watch: watchOption, follow: followOption };

/**
 * Creates the output of a command that prints what changes; undefined if the options ask for what there is now.
 *
 * @throws {@link RequestError} if the chosen format does not fit
 */
export function createWatchOutput(
  { watch, follow, output, json: isJson }: OutputOptions & OptionValues<typeof watchOptions>,
  context: CommandContext,
): WatchOutput | undefined {
  if (watch === true) {
    if (context.out.isTTY !== true || isJson === true || (output ?? "table") !== "table") {
      throw new RequestError("--watch redraws a table on a terminal", {
        advice: "Use --follow to print each change as a line of JSON.",
      });
    }
    const display = createDisplay(context.out);
    return { kind: "table", notes: display, display };
  }
  if (follow !== true) {
    return undefined;
  }
  if (isJson === true || (output ?? "jsonl") !== "jsonl") {
    throw new RequestError(`--follow prints lines of JSON, not ${isJson === true ? "one document" : output}`, {
      advice: "Use -o jsonl, or --watch for a table that is redrawn.",
    });
  }
  return { kind: "jsonl", notes: context.notes };
}

/** Milliseconds between two updates of the table. */
const DRAW_MS = 200;

/** The time after a connection is opened at which the records are listed once more: changes before it are not streamed. */
const SECOND_LISTING_MS = 1000;

/** A connection that was open for this long counts as working, in milliseconds, even if nothing changed. */
const STABLE_MS = 10_000;

/**
 * Prints records and then each of their changes, until the signal is aborted.
 *
 * A node's streams contain only changes, and a lost connection loses some of them. The records are therefore listed after each
 * connection is opened, and each difference is a change.
 *
 * @throws the errors of a listing or a stream that a new connection cannot fix
 */
export async function watchRecords<M extends DescMessage>(
  watched: WatchedRecords<M>,
  output: WatchOutput,
  context: CommandContext,
): Promise<void> {
  const ending = linkedController(context.signal);
  const { signal } = ending;
  const records = createRecords(watched);
  const [isListingDue, isDrawingDue] = [createFlag(), createFlag()];
  let problem = "";

  async function take(record: MessageShape<M>, from: Origin<MessageShape<M>>): Promise<void> {
    const change = records.take(record, from);
    if (change !== undefined) {
      isDrawingDue.raise();
      if (output.kind === "jsonl") {
        await writeOut(context, change);
      }
    }
  }

  async function readStream(open: WatchedRecords<M>["streams"][number]): Promise<void> {
    let stopTimer = (): void => {};
    const streamed = records.addStream();
    const stream = reconnect<readonly MessageShape<M>[]>(
      {
        stableMs: STABLE_MS,
        open(connection) {
          streamed.clear(); // Later changes may be lost.
          isListingDue.raise();
          stopTimer();
          stopTimer = startTimer(isListingDue.raise, SECOND_LISTING_MS, { ref: false });
          return open(connection, isListingDue.raise);
        },
        onEnd({ failures, ...end }) {
          const error = lossOf(end);
          signal.throwIfAborted();
          if (error.summary !== problem) {
            problem = error.summary;
            output.notes.write(`tradewire: ${printable(problem)}; reconnecting\n`);
          }
          return { kind: "reconnect", delayMs: backoffMs(failures.total) };
        },
      },
      signal,
    );
    try {
      for await (const changed of stream.messages) {
        stream.progressed();
        for (const record of changed) {
          await take(record, streamed);
        }
      }
    } finally {
      stopTimer();
    }
  }

  async function readListings(): Promise<void> {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      await isListingDue.lowered();
      signal.throwIfAborted();
      try {
        for await (const record of watched.list(signal)) {
          await take(record, "listing");
        }
        if (problem !== "") {
          problem = "";
          output.notes.write("tradewire: reconnected; the records were listed again\n");
        }
        isDrawingDue.raise();
      } catch (reason) {
        // The stream of the lost connection reports the loss, and asks for a listing when it is opened again.
        if (isFirst || signal.aborted || !isLoss(reason)) {
          throw reason;
        }
        isListingDue.raise();
        await wait(SECOND_LISTING_MS, signal);
      }
    }
  }

  async function draw({ display }: WatchOutput & { readonly kind: "table" }): Promise<void> {
    const { out, notes } = context;
    let drawn: LaidOut | undefined;
    out.on("resize", isDrawingDue.raise);
    try {
      for (;;) {
        await isDrawingDue.lowered();
        if (signal.aborted) {
          break;
        }
        const state = problem === "" ? "Ctrl-C ends" : `${problem}; reconnecting`;
        const table = tableOf(watched, records.shown(), state, sizeOf(out));
        drawn = table.laidOut;
        display.draw(table.lines);
        await wait(DRAW_MS, signal).catch(() => undefined);
      }
    } finally {
      out.off("resize", isDrawingDue.raise);
      const advice = "Use --follow to print all.";
      const omissions = drawn === undefined ? "" : describeOmissions([drawn], advice, sizeOf(out).columns);
      notes.write(omissions === "" ? "" : `${omissions}\n`);
    }
  }

  signal.addEventListener("abort", () => {
    isListingDue.raise();
    isDrawingDue.raise();
  });
  const tasks = [
    ...watched.streams.map(readStream),
    readListings(),
    ...(output.kind === "table" ? [draw(output)] : []),
  ];
  await endTogether(tasks, (reason) => ending.abort(reason)).catch(() => undefined);
  context.signal.throwIfAborted();
  throw signal.reason;
}

/**
 * Where a record comes from: a listing, or a stream, with the latest states that it has sent over the present connection, by their keys.
 */
type Origin<T> = "listing" | Map<string, T>;

interface Records<M extends DescMessage> {
  /** Adds a stream. Its states take precedence over those of listings, which may be older, until they are removed from the map. */
  addStream(): Map<string, MessageShape<M>>;
  /** Stores a record, and returns its line of JSON; undefined if it is not new. */
  take(record: MessageShape<M>, from: Origin<MessageShape<M>>): string | undefined;
  /** The records in the order of the listing. */
  shown(): MessageShape<M>[];
}

/** The maximum number of records of a stream for which listings are ignored. */
const MAX_STREAMED = 100_000;

function createRecords<M extends DescMessage>(watched: WatchedRecords<M>): Records<M> {
  const { type, key, ageOf, createdAt, matches, limit } = watched;
  const latest = new Map<string, { readonly record: MessageShape<M>; readonly text: string }>();
  /** The last states of records that were removed. */
  const removed = new Map<string, MessageShape<M>>();
  const streams: Map<string, MessageShape<M>>[] = [];

  function isOutdated(record: MessageShape<M>, known: MessageShape<M>, from: Origin<MessageShape<M>>): boolean {
    if (ageOf === undefined) {
      return false;
    }
    const [next, before] = [ageOf(record), ageOf(known)];
    return from === "listing" ? !isOlder(before, next) : isOlder(next, before);
  }

  /** Makes space for a record, and returns whether there is some. */
  function makeSpace(record: MessageShape<M>): boolean {
    if (latest.size < limit) {
      return true;
    }
    if (createdAt === undefined) {
      return false;
    }
    let [oldest, time] = ["", createdAt(record)];
    for (const [id, each] of latest) {
      if (createdAt(each.record) < time) {
        [oldest, time] = [id, createdAt(each.record)];
      }
    }
    return latest.delete(oldest);
  }

  return {
    addStream() {
      const streamed = new Map<string, MessageShape<M>>();
      streams.push(streamed);
      return streamed;
    },
    take(record, from) {
      const id = key(record);
      const known = latest.get(id);
      if (from !== "listing") {
        setBounded(from, id, record, MAX_STREAMED);
      } else if (streams.some((streamed) => streamed.has(id))) {
        return undefined;
      }
      const before = known?.record ?? removed.get(id);
      if (before !== undefined && isOutdated(record, before, from)) {
        return undefined;
      }
      const text = json(type.record(record));
      if (known?.text === text) {
        return undefined;
      }
      if (!matches(record)) {
        // Its last state is a change of a record that was listed.
        setBounded(removed, id, record, MAX_STREAMED);
        return latest.delete(id) ? text : undefined;
      }
      if (known !== undefined || makeSpace(record)) {
        latest.set(id, { record, text });
      }
      return text;
    },
    shown() {
      const all = Array.from(latest.values(), ({ record }) => record);
      return createdAt === undefined ? all : all.toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
    },
  };
}

/** Formats as many records as fit the terminal, with a line about the state of the watch. */
function tableOf<M extends DescMessage>(
  { type: { header, ranked, cells, name } }: WatchedRecords<M>,
  records: readonly MessageShape<M>[],
  state: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): { readonly lines: string[]; readonly laidOut: LaidOut } {
  // The header, the state and the line of the cursor take their place.
  const shown = records.slice(0, Math.max(1, rows - 3));
  const { text, ...laidOut } = fitTable(
    header,
    shown.map((record) => cells(record).map(printable)),
    { width: columns - 1, ranked: rankedPlaces(header, ranked ?? []), prefers: "values" },
  );
  const hidden = records.length - shown.length;
  const words = wordsOf(name);
  const count = `${records.length} ${records.length === 1 ? words.slice(0, -1) : words}${hidden === 0 ? "" : `, ${hidden} of them below`}`;
  const time = clock(new Date(unixMs()).toISOString());
  return { lines: [...text.trimEnd().split("\n"), printable(`${time}  ${count}; ${state}`)], laidOut };
}

type StreamEnd = { readonly kind: "completed" } | { readonly kind: "failed"; readonly error: unknown };

/** Returns the failure of a lost connection; throws a failure that a new connection cannot fix. */
function lossOf(end: StreamEnd): TradewireError {
  if (end.kind === "completed") {
    return new ConnectionError("the node ended the stream", {
      code: Code.Unavailable,
      advice: "The node may have dropped the stream, or was stopped.",
    });
  }
  if (isLoss(end.error)) {
    return end.error;
  }
  throw end.error;
}

function isLoss(reason: unknown): reason is TradewireError {
  return reason instanceof TradewireError && reactionTo(reason).resume;
}
