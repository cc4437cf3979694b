import type { TradewireError } from "../../errors/index.js";
import type { SyncEvent } from "../../sync/events.js";
import type { SyncSummary } from "../../sync/options.js";
import type { Unit } from "../../sync/unit.js";
import type { SyncSnapshot } from "../../sync/watch/snapshot.js";
import { printable } from "../output.js";
import { grouped, span } from "./figures.js";

/**
 * Describe an event for a program.
 *
 * @param event the event
 * @returns an object for a line of JSON; `undefined` for events that only a display wants
 */
export function eventObject(event: SyncEvent): object | undefined {
  switch (event.case) {
    case "planned": {
      const { chainId, segments } = event.history;
      const [fromBlock, toBlock] = [segments[0]?.fromBlock, segments.at(-1)?.toBlock];
      return { event: "planned", chainId, segments: segments.length, fromBlock, toBlock, tables: event.tables };
    }
    case "loaded":
      return { event: "loaded", ...event.entry, ms: Math.round(event.ms) };
    case "failed":
      return { event: "failed", ...unitObject(event.unit), ...againOf(event), attempt: event.attempt };
    case "waiting":
      return { event: "waiting", ...againOf(event) };
    case "away":
      return { event: "away", node: event.node, error: event.error };
    case "unknown": {
      const { table, column, value } = event.unknown;
      return { event: "unknown", table, column, value };
    }
    case "idle":
      return { event: "idle", againMs: event.againMs };
    case "began":
    case "arrived":
    case "left":
      return undefined;
  }
}

function againOf({ error, againMs }: { readonly error: TradewireError; readonly againMs?: number }) {
  return { error, ...(againMs !== undefined && { againMs: Math.round(againMs) }) };
}

/** A unit for a program. */
export function unitObject({ table, fromBlock, toBlock, segmentId }: Unit) {
  return { table, fromBlock, toBlock, segmentId };
}

/** The summary of a sync for a program: the last line. */
export function summaryObject({ failed, ...summary }: SyncSummary): object {
  return { event: "summary", ...summary, failed: failed.map(({ unit, error }) => ({ ...unitObject(unit), error })) };
}

/**
 * Describe an event for a person, where it is more than a part of the figures.
 *
 * @param event the event
 * @returns a line; `undefined` for most events
 */
export function eventLine(event: SyncEvent): string | undefined {
  switch (event.case) {
    case "failed": {
      const { table, fromBlock, toBlock } = event.unit;
      const what = `${table} of blocks ${fromBlock} to ${toBlock} was given up: ${printable(event.error.summary)}`;
      return event.againMs === undefined ? what : undefined;
    }
    case "unknown": {
      const { table, column, value } = event.unknown;
      const what = value === undefined ? "the column" : `the value ${JSON.stringify(value)} in`;
      return printable(`a newer node has sent ${what} ${table}.${column}, which is kept as text`);
    }
    case "away":
      return printable(`${event.node} cannot be asked and is left out for now: ${event.error.summary}`);
    default:
      return undefined;
  }
}

/**
 * Write how a sync stands in one line of a log.
 *
 * @param snapshot how it stands
 * @returns the line, with its time
 */
export function logLine({ at, phase, total, secondsLeft, waiting, failed }: SyncSnapshot): string {
  const time = `${at.slice(0, 19)}Z`;
  if (phase === "starting") {
    return `${time} reading the node's history`;
  }
  const share = total.segments === 0 ? "100.0" : ((total.done / total.segments) * 100).toFixed(1);
  const parts = [
    `${grouped(total.done)} of ${grouped(total.segments)} segments (${share} %)`,
    `${grouped(total.there.rows)} rows`,
    `${(total.rates.bytes / 1e6).toFixed(1)} MB/s`,
    ...(total.missing > 0 && secondsLeft !== undefined ? [`${span(secondsLeft)} left`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(waiting === undefined ? [] : [`waiting: ${printable(waiting.message)}`]),
  ];
  return `${time} ${parts.join(", ")}`;
}
