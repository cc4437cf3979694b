import { quoted } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { assertChainId } from "../input/assert.js";

/** What the user has said of the chain, and of the way to the node. */
export interface ChainSettings {
  /** The chain to sign for. */
  readonly chainId?: string | undefined;
  /** Whether every host that the client may call is loopback. */
  readonly isLoopback: boolean;
}

/**
 * Finds the chain that the user has named. Whoever chooses the chain's identifier chooses what is signed: with a zero
 * byte in it, or a beginning of a message, a signature is that of another transaction. So a node's word counts only
 * where the node is the user's own machine.
 *
 * @param chainId the chain that the caller names for one transaction, which counts before that of the client
 * @param settings the client's chain, and where its node is
 * @returns the chain's identifier; `undefined` if none is named and the node may name it
 * @throws {@link RequestError} if it has a wrong form, or none is named for a node elsewhere
 */
export function namedChain(chainId: string | undefined, settings: ChainSettings): string | undefined {
  const named = chainId ?? settings.chainId;
  if (named !== undefined) {
    assertChainId("chainId", named);
  } else if (!settings.isLoopback) {
    throw new RequestError("the chain ID is required, because the node is not on loopback", {
      advice:
        "Set the chain to sign for: chainId in the configuration or in the options, TRADEWIRE_CHAIN_ID or --chain-id. Nothing was signed.",
    });
  }
  return named;
}

/**
 * Rejects a node that is on another chain than the one that the user has named, or that gives no identifier of a chain.
 *
 * @param answered the identifier in the node's answer, of any length
 * @param named the chain that the user has named, if there is one
 * @throws {@link RequestError} if the two differ, naming both, or the answer has a wrong form
 */
export function requireChain(answered: string, named: string | undefined): void {
  if (named === undefined) {
    assertChainId("the node's chain ID", answered);
  } else if (answered !== named) {
    throw new RequestError(`the node is on chain ${quoted(answered)}, but the chain to sign for is ${quoted(named)}`, {
      errorCode: "TW_CHAIN_MISMATCH",
      advice: "Check the node's URL and the chain ID: chainId, TRADEWIRE_CHAIN_ID or --chain-id.",
    });
  }
}
