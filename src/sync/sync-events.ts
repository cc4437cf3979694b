import type { TradewireError } from "../base/errors/index.js";
import { createEventReporter } from "../base/errors/observer.js";
import type { UnknownPart } from "../data/archive/typed-rows.js";
import type { DataNodeLag } from "../data/history/data-node-lag.js";
import type { CoverageComparison } from "./sink.js";
import type { LedgerEntry, NodeHistory, Unit } from "./unit.js";

/** An event of a sync. */
export type SyncEvent =
  /** The node's history was compared with the sink. It is repeated with each new reading of the history. */
  | ({ readonly kind: "planned"; readonly history: NodeHistory } & Pick<CoverageComparison, "tables" | "gaps">)
  /** A unit is being fetched. */
  | { readonly kind: "began"; readonly unit: Unit; readonly node: string }
  /** Bytes of CSV have arrived: the total of the unit so far. */
  | { readonly kind: "arrived"; readonly unit: Unit; readonly bytes: number }
  | { readonly kind: "loaded"; readonly entry: LedgerEntry; readonly ms: number }
  /** Another sync has loaded the unit in the meantime, or is loading it. */
  | { readonly kind: "skipped"; readonly unit: Unit; readonly outcome: "there" | "busy" }
  /** A unit failed. With `againMs`, it is retried after that time; without, it has failed for good. */
  | {
      readonly kind: "failed";
      readonly unit: Unit;
      readonly error: TradewireError;
      readonly attempt: number;
      readonly againMs?: number;
    }
  /** The node or the sink is unreachable, and the whole sync waits for it. */
  | { readonly kind: "waiting"; readonly error: TradewireError; readonly againMs: number }
  /** One of several nodes is unreachable. It gets no units until its history was compared with the others. */
  | { readonly kind: "unreachable"; readonly node: string; readonly error: TradewireError }
  /**
   * A node's last block was compared with its core's and with the clock. It is repeated with each reading of the
   * history.
   */
  | { readonly kind: "lag"; readonly node: string; readonly lag: DataNodeLag }
  /** The views could not be created or updated, and remain as they were. */
  | { readonly kind: "unviewed"; readonly error: TradewireError }
  /**
   * The markets, assets and accounts that nodes list could not be stored: views lack the decimals and names that no exported row has.
   */
  | { readonly kind: "unlisted"; readonly error: TradewireError }
  /** A newer node has sent a column or a value that this release does not know. */
  | { readonly kind: "unknown"; readonly unknown: UnknownPart }
  /**
   * Everything is loaded; with `follow`, the history is read again after that time. For a worker of a queue: there is
   * no unit to claim; the event is repeated after that time.
   */
  | { readonly kind: "idle"; readonly againMs: number };

/** Callbacks of a sync. */
export interface SyncHooks {
  /** Called with each event as it happens. An error of it becomes a warning of the process. */
  readonly onEvent?: ((event: SyncEvent) => void) | undefined;
}

/** Reports an event to the caller's hooks. It never throws. */
export type ReportEvent = (event: SyncEvent) => void;

/**
 * Returns a function that passes events to hooks. An error of a hook becomes one warning of the process and changes
 * nothing.
 */
export function createReporter(hooks: SyncHooks | undefined): ReportEvent {
  // The hook is looked up each time, because it may be added or removed.
  return createEventReporter((event: SyncEvent) => hooks?.onEvent?.(event), "the sync");
}
