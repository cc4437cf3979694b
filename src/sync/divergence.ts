import { Code } from "../base/errors/code.js";
import { type ErrorText, quoted } from "../base/errors/error-text.js";
import { RequestError, TradewireError } from "../base/errors/index.js";
import type { Divergence, HistoryMark } from "./sink.js";
import { firstEndingAt, type Segment, type Unit } from "./unit.js";

/**
 * The histories of a sink and a node diverge, or the history of a node has changed. Nothing was changed in the sink.
 */
export class DivergenceError extends TradewireError {
  /** Where the sink's history diverges from the node's; absent if the node's own history has changed. */
  readonly divergence: Divergence | undefined;

  constructor(summary: string, advice: ErrorText, divergence?: Divergence) {
    super(summary, { code: Code.FailedPrecondition, advice, errorCode: "TW_DIVERGENCE" });
    this.divergence = divergence;
  }
}

/** Maximum number of characters of a segment's identifier in an error. */
const MAX_ID = 100;

/** Creates the error of a sink whose history diverges from the node's. */
export function divergenceError(sinkName: string, divergence: Divergence): DivergenceError {
  const { entry, segment } = divergence;
  const { table, fromBlock, toBlock, segmentId, previousSegmentId } = entry;
  const has = `${sinkName} has blocks ${fromBlock} to ${toBlock} of ${table} from segment ${shown(segmentId)} after ${shown(previousSegmentId)}`;
  const node =
    segment === undefined
      ? "the node has no segment that ends there, or its history starts after another segment"
      : `the node has ${segmentText(segment)}`;
  return new DivergenceError(
    `the histories diverge: ${has}, but ${node}`,
    (nameOf) =>
      `Check that the node belongs to the same network. To replace the history with the node's from there, sync with ${nameOf("replaceFrom", "replaceFrom (--replace-from-block)")} ${fromBlock}. Nothing was changed.`,
    divergence,
  );
}

/** Creates the error of a node whose history has changed. */
export function historyChangedError(node: string, how: string): DivergenceError {
  return new DivergenceError(
    `the history of ${node} changed: ${how}`,
    "Start the sync again: it compares the loaded rows with the node's history, and reports where they diverge.",
  );
}

/** Creates the error of a node that has another segment at the end of a queued unit. */
export function unitDivergenceError(node: string, unit: Unit, segment: Segment): DivergenceError {
  const { table, fromBlock, toBlock, segmentId, previousSegmentId } = unit;
  const planned = `the queue has blocks ${fromBlock} to ${toBlock} of ${table} from segment ${shown(segmentId)} after ${shown(previousSegmentId)}`;
  return new DivergenceError(
    `the histories diverge: ${planned}, but ${node} has ${segmentText(segment)}`,
    "Check that the nodes of the worker and of the planner belong to the same network. Nothing was changed, and the unit was returned to the queue.",
  );
}

/** Creates the error of a sink into which another history is loaded. */
export function historyMarkedError(sinkName: string, mark: HistoryMark, segments: readonly Segment[]): DivergenceError {
  const segment = segments[firstEndingAt(segments, mark.toBlock)];
  const node = segment === undefined ? "no segment there" : segmentText(segment);
  return new DivergenceError(
    `the histories diverge: a sync loads another history of this chain into ${sinkName}, in which segment ${shown(mark.segmentId)} ends with block ${mark.toBlock}, but the node has ${node}`,
    (nameOf) =>
      `Check that the node belongs to the same network, or sync into another target. To replace the history with the node's from there, sync with ${nameOf("replaceFrom", "replaceFrom (--replace-from-block)")} ${segment?.fromBlock ?? mark.toBlock}. Nothing was changed.`,
  );
}

/**
 * Checks that a sink holds the node's chain, or is empty.
 *
 * @throws {@link RequestError} naming both
 */
export function assertSameChain(sinkName: string, held: string | undefined, chainId: string): void {
  if (held !== undefined && chainId !== "" && held !== chainId) {
    throw new RequestError(`the node is on chain ${quoted(chainId)}, but ${sinkName} has chain ${quoted(held)}`, {
      errorCode: "TW_CHAIN_MISMATCH",
      advice: "Check the node's URL, or sync this chain into another target.",
    });
  }
}

function segmentText({ id, fromBlock, toBlock, previousId }: Segment): string {
  return `segment ${shown(id)} of blocks ${fromBlock} to ${toBlock} after ${shown(previousId)}`;
}

function shown(id: string): string {
  return id === "" ? "none" : quoted(id, MAX_ID);
}
