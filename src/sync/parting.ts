import { Code } from "@connectrpc/connect";
import { RequestError, TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { Parting } from "./sink.js";
import type { Segment, Unit } from "./unit.js";

/** The histories of a sink and of a node part, or that of a node has become another one. Nothing was changed. */
export class PartingError extends TradewireError {
  /** Where the sink's history parts from the node's; absent where the node's own has changed. */
  readonly parting: Parting | undefined;

  constructor(summary: string, advice: string, parting?: Parting) {
    super(summary, { code: Code.FailedPrecondition, advice, section: "partingerror" });
    this.parting = parting;
  }
}

/** The most characters of an identifier of a segment in an error. */
const MAX_ID = 100;

/**
 * Make the error of a sink whose history parts from the node's.
 *
 * @param sinkName what the sink is called
 * @param parting the place
 * @returns the error, which names both sides
 */
export function partingError(sinkName: string, parting: Parting): PartingError {
  const { entry, segment } = parting;
  const { table, fromBlock, toBlock, segmentId, previousSegmentId } = entry;
  const has = `${sinkName} has blocks ${fromBlock} to ${toBlock} of ${table} from segment ${shown(segmentId)} behind ${shown(previousSegmentId)}`;
  const node =
    segment === undefined
      ? "the node has no segment that ends there, or names another one before its first"
      : `the node has ${segmentText(segment)}`;
  return new PartingError(
    `the histories part: ${has}, and ${node}`,
    `Check that the node is of the same network. To take the node's history from there on, sync with replaceFrom ${fromBlock} (--replace-from); nothing was changed.`,
    parting,
  );
}

/**
 * Make the error of a node whose history is not the one that it was.
 *
 * @param node what the node is called
 * @param how what it had, and what it has
 * @returns the error
 */
export function changedError(node: string, how: string): PartingError {
  return new PartingError(
    `the history of ${node} has changed: ${how}`,
    "Start the sync again: it compares what is there with the node's history, and says where they part.",
  );
}

/**
 * Make the error of a node that has another segment where a unit of the queue ends.
 *
 * @param node what the node is called
 * @param unit the unit, as it was planned
 * @param segment the node's segment
 * @returns the error, which names both sides
 */
export function unitParted(node: string, unit: Unit, segment: Segment): PartingError {
  const { table, fromBlock, toBlock, segmentId, previousSegmentId } = unit;
  const planned = `the queue has blocks ${fromBlock} to ${toBlock} of ${table} from segment ${shown(segmentId)} behind ${shown(previousSegmentId)}`;
  return new PartingError(
    `the histories part: ${planned}, and ${node} has ${segmentText(segment)}`,
    "Check that the worker's nodes are of the network that was planned from. Nothing was changed, and the unit was put back.",
  );
}

/**
 * Check that a sink holds the node's chain, or nothing yet.
 *
 * @param sinkName what the sink is called
 * @param held the chain that it holds, if any
 * @param chainId the node's; empty where it has no history yet, and so tells none
 * @throws {@link RequestError} naming both
 */
export function requireSameChain(sinkName: string, held: string | undefined, chainId: string): void {
  if (held !== undefined && chainId !== "" && held !== chainId) {
    throw new RequestError(`${sinkName} holds the chain ${quoted(held)}, and the node's is ${quoted(chainId)}`, {
      advice: "Check the node's URL, or give the other chain a place of its own.",
    });
  }
}

function segmentText({ id, fromBlock, toBlock, previousId }: Segment): string {
  return `segment ${shown(id)} of blocks ${fromBlock} to ${toBlock} behind ${shown(previousId)}`;
}

function shown(id: string): string {
  return id === "" ? "none" : quoted(id, MAX_ID);
}
