import type { UnknownPart } from "../archive/unknown-part.js";
import type { TradewireError } from "../errors/index.js";
import type { DataNodeLag } from "../history/data-node-lag.js";
import type { TableSurvey } from "./sink.js";
import type { LedgerEntry, NodeHistory, Unit } from "./unit.js";

/** What happens in a sync. */
export type SyncEvent =
  /** The node's history was compared with the sink's. It comes again with each look for new segments. */
  | { readonly case: "planned"; readonly history: NodeHistory; readonly tables: readonly TableSurvey[] }
  /** A unit is being fetched. */
  | { readonly case: "began"; readonly unit: Unit; readonly node: string }
  /** Bytes of CSV have arrived: how many of the unit so far. */
  | { readonly case: "arrived"; readonly unit: Unit; readonly bytes: number }
  | { readonly case: "loaded"; readonly entry: LedgerEntry; readonly ms: number }
  /** Another sync has loaded the unit meanwhile, or is loading it. */
  | { readonly case: "left"; readonly unit: Unit; readonly outcome: "there" | "busy" }
  /** A unit failed. With `againMs` it is tried again after that time; without, it is given up. */
  | {
      readonly case: "failed";
      readonly unit: Unit;
      readonly error: TradewireError;
      readonly attempt: number;
      readonly againMs?: number;
    }
  /** The node or the sink could not be asked at all; everything waits. */
  | { readonly case: "waiting"; readonly error: TradewireError; readonly againMs: number }
  /** One of several nodes could not be asked for its history. It gets no units until it was compared with the others. */
  | { readonly case: "away"; readonly node: string; readonly error: TradewireError }
  /** A node's last block was compared with its core's and the clock. It comes with each look for new segments. */
  | { readonly case: "lag"; readonly node: string; readonly lag: DataNodeLag }
  /** A newer node has sent what this release does not know. */
  | { readonly case: "unknown"; readonly unknown: UnknownPart }
  /**
   * All is loaded; with `follow`, the next look for new segments is due after that time. Of a worker of a queue: there is
   * no unit to take, and it says so again after that time.
   */
  | { readonly case: "idle"; readonly againMs: number };
