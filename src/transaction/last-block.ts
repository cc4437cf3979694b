import { Code } from "@connectrpc/connect";
import { ConnectionError } from "../errors/index.js";
import type { KnownBlock, RecentBlocks } from "./recent-blocks.js";

/** How often a node is asked at most. */
const MAX_READINGS = 5;

/**
 * Reads the last block of a node: it is asked again until the block counts, as {@link RecentBlocks} describes.
 *
 * @param ask asks the node
 * @param recent the blocks that are known; each answer is added
 * @returns the answer that counts
 * @throws {@link ConnectionError} if the answers do not fit together, and what `ask` throws
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
