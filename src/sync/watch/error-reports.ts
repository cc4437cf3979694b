import { truncate } from "../../base/errors/error-text.js";
import { codeName, type TradewireError } from "../../base/errors/index.js";
import { type DataNodeLag, describeLag } from "../../data/history/data-node-lag.js";
import type { Unit } from "../unit.js";
import { maskSecrets } from "./mask-secrets.js";
import type { ErrorReport, LagReport, Loaded, NodeReport } from "./sync-snapshot.js";
import { addLoaded } from "./table-progress.js";

/** Maximum number of errors that are listed. */
const MAX_ERRORS = 20;

/** Maximum number of kinds of errors that are counted separately; others count as `other`. */
const MAX_KINDS = 100;

/** Maximum number of nodes that are listed separately; others count as `other`. */
const MAX_NODES = 100;

/** Maximum number of characters of a text from outside. */
const MAX_TEXT = 400;

/** The facts about an error that are not in the error. Times are milliseconds since 1970. */
export interface ErrorFacts {
  readonly at: number;
  readonly unit?: Unit;
  readonly attempt?: number;
  readonly againMs?: number | undefined;
}

/** Creates a log of the last errors. Equal errors share an entry, and all errors are counted by kind. */
export function createErrorLog() {
  const last: ErrorReport[] = [];
  const counts = new Map<string, number>();
  return {
    add(error: TradewireError, facts: ErrorFacts): ErrorReport {
      const made = reportOf(error, facts);
      const same = last.findIndex(({ kind, message, advice }) => {
        return kind === made.kind && message === made.message && advice === made.advice;
      });
      const [before] = same < 0 ? [] : last.splice(same, 1);
      const report = { ...made, count: made.count + (before?.count ?? 0) };
      last.unshift(report);
      last.length = Math.min(last.length, MAX_ERRORS);
      const kind = counts.has(report.kind) || counts.size < MAX_KINDS ? report.kind : "other";
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return report;
    },
    show: () => ({ errors: [...last], errorCounts: Object.fromEntries(counts) }),
  };
}

function reportOf(error: TradewireError, { at, unit, attempt, againMs }: ErrorFacts): ErrorReport {
  return {
    at: new Date(at).toISOString(),
    kind: `${error.name} ${codeName(error.code)}`,
    message: plain(error.summary),
    advice: plain(error.advice),
    count: 1,
    ...(unit && { unit: { table: unit.table, fromBlock: unit.fromBlock, toBlock: unit.toBlock } }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(againMs === undefined ? {} : { againAt: new Date(at + againMs).toISOString() }),
  };
}

/** Creates the totals of each node. */
export function createNodeReports() {
  const nodes = new Map<string, Loaded>();
  const lags = new Map<string, LagReport>();
  const nothing = { units: 0n, rows: 0n, bytes: 0n };
  /** Returns the displayed name of a node, and adds it to the list. */
  function nameOf(node: string): string {
    const name = plain(node.replace(/\/\/[^/@]*@/, "//")); // A URL may hold a password.
    const known = nodes.has(name) || nodes.size < MAX_NODES ? name : "other";
    nodes.set(known, nodes.get(known) ?? nothing);
    return known;
  }
  return {
    name: nameOf,
    compare(node: string, lag: DataNodeLag): void {
      lags.set(nameOf(node), lagReport(lag));
    },
    add(name: string | undefined, { rows, bytes }: { readonly rows: bigint; readonly bytes: bigint }): void {
      if (name === undefined) {
        return; // The start of the unit was not reported.
      }
      nodes.set(name, addLoaded(nodes.get(name) ?? nothing, { units: 1n, rows, bytes }));
    },
    show(underWay: readonly { readonly node: string }[]): NodeReport[] {
      return [...nodes].map(([name, loaded]) => {
        const lag = lags.get(name);
        return {
          name,
          ...loaded,
          underWay: underWay.filter(({ node }) => node === name).length,
          ...(lag && { lag }),
        };
      });
    },
  };
}

function lagReport(lag: DataNodeLag): LagReport {
  const { state, behindCoreMs, behindClockMs } = lag;
  return {
    state,
    ...(behindCoreMs === undefined ? {} : { behindCoreSeconds: behindCoreMs / 1000 }),
    behindClockSeconds: behindClockMs / 1000,
    text: describeLag(lag),
  };
}

/** Returns a text from outside on one line: without credentials, control characters and bidirectional formatting. */
function plain(text: string): string {
  return truncate(maskSecrets(text), MAX_TEXT).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
}
