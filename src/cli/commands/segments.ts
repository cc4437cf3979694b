import type { Command } from "commander";
import {
  type BlockRange,
  contiguousSpans,
  gapsBetween,
  type SegmentHeights,
  type SegmentSpan,
  schemaSpans,
} from "../../history/segments.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { createTables, LISTED } from "../terminal.js";

/**
 * Add the command `segments`, which lists the boundaries of ranges that can be exported (specification, 4.1).
 *
 * @param command the command `segments`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSegments(command: Command, context: CommandContext): void {
  command
    .option("--json", "print one JSON object")
    .option("--all", `list all segments, also on a terminal, which shows the last ${LISTED} by default`);
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (options: ClientOptions & { readonly json?: boolean; readonly all?: boolean }) => {
    await using client = commandClient(options, context);
    const segments = (await client.listSegments({ signal: context.signal })).map(
      ({ $typeName: _, $unknown: __, ...segment }) => segment,
    );
    const spans = contiguousSpans(segments);
    const gaps = gapsBetween(spans);
    const schemas = schemaSpans(segments);
    if (options.json === true) {
      context.out.write(json({ segments, spans: spans.map(counted), gaps, schemas: schemas.map(counted) }));
      return;
    }
    const isShort = context.out.isTTY === true && options.all !== true && segments.length > LISTED;
    const tables = createTables(context);
    const listed = isShort ? segments.slice(-LISTED) : segments;
    const rows = mapped(listed, ({ fromHeight, toHeight, databaseVersion, chainId, historySegmentId }) => [
      String(fromHeight),
      String(toHeight),
      String(databaseVersion),
      printable(chainId),
      printable(historySegmentId),
    ]);
    await tables.write(context, ["from", "to", "schema", "chain", "segment"], rows);
    if (isShort) {
      context.notes.write(`The last ${LISTED} of ${segments.length} segments are listed; --all lists all.\n`);
    }
    const row = (what: string, { fromBlock, toBlock }: BlockRange, count: string) => [
      what,
      String(fromBlock),
      String(toBlock),
      count,
    ];
    const ranges = joined(
      mapped(spans, (span) => row("contiguous", span, String(span.segments.length))),
      mapped(gaps, (gap) => row("gap", gap, "")),
      mapped(schemas, (span) => row(`schema version ${span.databaseVersion}`, span, String(span.segments.length))),
    );
    await writeOut(context, "\n");
    await tables.write(context, ["", "from", "to", "segments"], ranges);
    tables.tellLeftOut();
  });
}

/** Maps a list each time that it is iterated. A node may have hundreds of thousands of segments. */
function mapped<T, R>(list: readonly T[], map: (item: T) => R): Iterable<R> {
  return {
    *[Symbol.iterator]() {
      for (const item of list) {
        yield map(item);
      }
    },
  };
}

function joined<T>(...lists: readonly Iterable<T>[]): Iterable<T> {
  return {
    *[Symbol.iterator]() {
      for (const list of lists) {
        yield* list;
      }
    },
  };
}

/** Replace the segments of a span by their number. */
function counted<S extends SegmentHeights, Span extends SegmentSpan<S>>({ segments, ...span }: Span) {
  return { ...span, segments: segments.length };
}
