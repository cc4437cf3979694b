import { Code } from "@connectrpc/connect";
import { ConnectionError } from "../../base/errors/index.js";
import type { KnownBlock, RecentBlocks } from "./recent-blocks.js";

/** Maximum number of requests to a node. */
const MAX_READINGS = 5;

/**
 * Reads the last block of a node, and repeats the request until the block is accepted, as {@link RecentBlocks}
 * describes.
 *
 * @throws {@link ConnectionError} if the responses contradict each other, and the errors of `ask`
 */
export async function readLastBlock<Block extends KnownBlock>(
  ask: () => Promise<Block>,
  recent: RecentBlocks,
): Promise<Block> {
  const heights: bigint[] = [];
  while (heights.length < MAX_READINGS) {
    const block = await ask();
    if (recent.add(block)) {
      return block;
    }
    heights.push(block.height);
  }
  throw new ConnectionError(`the node reported contradictory last blocks: ${heights.join(", ")}`, {
    code: Code.Unavailable,
    advice: "Nothing was sent. Try again, or use another node.",
    connected: false,
  });
}
