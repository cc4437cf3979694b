import {
  type BlockRange,
  contiguousSpans,
  gapsBetween,
  type HistorySegment,
  type SegmentHeights,
  type SegmentSpan,
  schemaSpans,
} from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand } from "../declarations.js";
import { type CommandContext, printable, writeOut } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { amountOptions } from "../shared-options.js";
import { createTables, LISTED } from "../table.js";

const segmentsOptions = {
  ...outputOptions,
  all: amountOptions.all,
  ...clientOptions,
};

/** Defines the command `segments`, which lists the boundaries of ranges that can be exported. */
export const addSegments = defineCommand(segmentsOptions, async (options, context) => {
  await using client = commandClient(options, context);
  const segments = (await client.listSegments({ signal: context.signal })).map(
    ({ $typeName: _, $unknown: __, ...segment }) => segment,
  );
  const spans = contiguousSpans(segments);
  const gaps = gapsBetween(spans);
  const schemas = schemaSpans(segments);
  const report = {
    table: () => printSegments({ segments, spans, gaps, schemas }, options.all === true, context),
    object: () => ({ segments, spans: spans.map(withCount), gaps, schemas: schemas.map(withCount) }),
    records: () => segments,
  };
  await printReport(report, outputFormat(options, context), context);
});

type Segment = Pick<HistorySegment, "fromHeight" | "toHeight" | "databaseVersion" | "chainId" | "historySegmentId">;

/** The segments of a node, and what they cover. */
interface Coverage {
  readonly segments: readonly Segment[];
  readonly spans: readonly SegmentSpan<Segment>[];
  readonly gaps: readonly BlockRange[];
  readonly schemas: ReturnType<typeof schemaSpans<Segment>>;
}

async function printSegments(
  { segments, spans, gaps, schemas }: Coverage,
  listsAll: boolean,
  context: CommandContext,
): Promise<void> {
  const isShort = context.out.isTTY === true && !listsAll && segments.length > LISTED;
  const tables = createTables(context);
  const listed = isShort ? segments.slice(-LISTED) : segments;
  const rows = mapped(listed, ({ fromHeight, toHeight, databaseVersion, chainId, historySegmentId }) => [
    String(fromHeight),
    String(toHeight),
    String(databaseVersion),
    printable(chainId),
    printable(historySegmentId),
  ]);
  await tables.write(context, ["fromHeight", "toHeight", "databaseVersion", "chainId", "historySegmentId"], rows);
  if (isShort) {
    context.notes.write(`Showing the last ${LISTED} of ${segments.length} segments. Use --all to list all.\n`);
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
  await tables.write(context, ["", "fromBlock", "toBlock", "segments"], ranges);
  tables.printOmissions();
}

/** Maps a list lazily, each time that it is iterated: a node may have hundreds of thousands of segments. */
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

/** Replaces the segments of a span by their number. */
function withCount<S extends SegmentHeights, Span extends SegmentSpan<S>>({ segments, ...span }: Span) {
  return { ...span, segments: segments.length };
}
