import type { TradewireError } from "../../errors/index.js";
import { describeLag } from "../../history/data-node-lag.js";
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
    case "lag":
      return { event: "lag", node: event.node, ...event.lag };
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
 * Creates the function that describes events for a person, where they are more than a part of the figures. That a data node
 * lags comes with each look, and is described when it begins and when it ends. A network that makes no blocks, or has a
 * clock of its own, is left to the status and the metrics.
 *
 * @returns a line for an event; `undefined` for most events
 */
export function createEventLines(): (event: SyncEvent) => string | undefined {
  const lagging = new Set<string>();
  return (event) => {
    if (event.case !== "lag") {
      return eventLine(event);
    }
    const { node, lag } = event;
    const lags = lag.state === "lagging" || lag.state === "old";
    if (lags === lagging.has(node)) {
      return undefined;
    }
    if (lags) {
      lagging.add(node);
    } else {
      lagging.delete(node);
    }
    return printable(`the data node of ${node} ${describeLag(lag)}`);
  };
}

function eventLine(event: SyncEvent): string | undefined {
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
export function logLine({ at, phase, node, total, secondsLeft, waiting, failed }: SyncSnapshot): string {
  const time = `${at.slice(0, 19)}Z`;
  if (phase === "starting") {
    return `${time} reading the node's history`;
  }
  if (total.segments === 0 && node !== undefined) {
    return `${time} no segment of the node, blocks ${node.fromBlock} to ${node.toBlock}, lies within the range`;
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
