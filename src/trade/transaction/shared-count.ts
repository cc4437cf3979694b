import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, invalidValueError } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import type { SharedBlock, Signer, SignerShare } from "./signer.js";
import { readSigner } from "./transaction.js";

/** The block from which transactions are counted. */
export interface SharedCountOptions {
  /**
   * The last block when the counting begins. Transactions that are tied to this block or an earlier one may already
   * have been sent, so no shares of these blocks are given out. By default, there are no such transactions.
   */
  readonly afterBlock?: bigint | undefined;
}

/**
 * The maximum number of blocks that are counted. A network accepts transactions tied to at most 500 blocks (v0.78.0, `ringSize`
 * in `core/pow/engine.go`).
 */
const MAX_BLOCKS = 1000;

interface Counted {
  count: number;
}

/**
 * Lets several clients share a key: the transactions of all of them are counted together. A block's hash serves a limited number
 * of transactions of a key at the lowest difficulty, each additional batch needs one more zero bit, and the network drops
 * transactions with too few (v0.78.0, `CheckBlockTx` in `core/pow/engine.go`).
 *
 * @param signer signs for all clients
 * @param options the block from which transactions are counted
 * @returns a signer that counts; pass the same one to all clients
 * @throws {@link RequestError} if the signer or an option is invalid
 *
 * @example
 * const shared = withSharedCount(await signerFromKeyFile("trader.key"));
 * await Promise.all(clients.map((each) => each.sendCommand(command, { signer: shared })));
 */
export function withSharedCount(
  signer: Signer,
  options: SharedCountOptions = {},
): Signer & Required<Pick<Signer, "takeShare">> {
  const { publicKey, sign, takeShare } = readSigner(signer);
  const read = snapshot(options);
  assertKnownKeys("options", read, { afterBlock: true });
  const { afterBlock = -1n } = read;
  if (takeShare !== undefined) {
    throw new RequestError("the signer already counts the transactions of all clients", {
      advice: "Use this same signer in all clients.",
    });
  }
  if (typeof afterBlock !== "bigint") {
    throw invalidValueError("afterBlock", afterBlock, "a block height as a bigint, such as 1000n");
  }
  /** The counts by the hash of the block. */
  const blocks = new Map<string, Counted & { readonly height: bigint }>();
  /** Of blocks up to this height, only those in the map have a known count. */
  let unknownUpTo = afterBlock;

  /** Forgets the lowest block if there are too many. No shares of it are given out from then on. */
  function limitBlocks(): void {
    if (blocks.size <= MAX_BLOCKS) {
      return;
    }
    const heights = [...blocks.values()].map(({ height }) => height).sort((a, b) => Number(a - b));
    const [lowest = unknownUpTo] = heights;
    unknownUpTo = lowest; // All blocks in the map are above it.
    for (const [hash, { height }] of blocks) {
      if (height === lowest) {
        blocks.delete(hash);
      }
    }
  }

  return Object.freeze({
    publicKey,
    sign,
    takeShare({ hash, height }: SharedBlock): SignerShare | undefined {
      const known = blocks.get(hash);
      if (known === undefined && height <= unknownUpTo) {
        return undefined;
      }
      const counted = known ?? { height, count: 0 };
      blocks.set(hash, counted);
      limitBlocks();
      return countOne(counted);
    },
  });
}

export function countOne(counted: Counted): SignerShare {
  const { count } = counted;
  counted.count += 1;
  let isBack = false;
  return {
    count,
    giveBack() {
      counted.count -= isBack ? 0 : 1;
      isBack = true;
    },
  };
}
