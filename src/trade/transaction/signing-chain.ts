import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { assertChainId } from "../../base/input/assert.js";

/** The configuration of the chain, and of the connection to the node. */
export interface ChainSettings {
  readonly chainId?: string | undefined;
  /** Whether every host that the client may call is loopback. */
  readonly isLoopback: boolean;
}

/**
 * Returns the configured chain. The chain's identifier determines what is signed: if it contains a zero byte, or the beginning of
 * a message, the signature is that of another transaction. So the node's own identifier is used only if the node is on the user's
 * machine.
 *
 * @throws {@link RequestError} if it is invalid, or none is configured for a remote node
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
 * Rejects a node that is on a different chain than the configured one, or that reports no valid identifier.
 *
 * @throws {@link RequestError} if the two differ (the error names both), or the response is invalid
 */
export function requireChain(answered: string, named: string | undefined): void {
  if (named === undefined) {
    assertChainId("the node's chain ID", answered);
  } else if (answered !== named) {
    throw new RequestError(`the node is on chain ${quoted(answered)}, not on ${quoted(named)}`, {
      errorCode: "TW_CHAIN_MISMATCH",
      advice: "Check the node's URL and the chain ID: chainId, TRADEWIRE_CHAIN_ID or --chain-id.",
    });
  }
}
