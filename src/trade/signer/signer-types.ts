import type { TradewireError } from "../../base/errors/index.js";
import type { Guard, KillOptions, KillReport } from "../guard/guard.js";
import type { GuardMode } from "../guard/policy.js";
import type { SharedBlock, Signer, SignerShare } from "../transaction/signer.js";

/** The functions that a signer process serves: the parts of a guard that programs can use. */
export type ServedSigner = Pick<Guard, "publicKey" | "sign" | "takeShare" | "mode" | "setMode" | "kill">;

/** The options of a signer process. */
export interface ServeSignerOptions {
  /** The signer: a result of `client.guard()`. */
  readonly guard: ServedSigner;
  /** The chain that it signs for. */
  readonly chainId: string;
  /** Path of the Unix socket for programs: they sign, and set stricter modes. */
  readonly listen: string;
  /** Path of a second Unix socket for the operator, who may also set less strict modes. */
  readonly admin?: string | undefined;
  /** Called for each refusal and each change of the mode. If it throws, nothing changes. */
  readonly onEvent?: ((event: SignerEvent) => void) | undefined;
  /** Closes the server. */
  readonly signal?: AbortSignal | undefined;
}

/** An event of a signer process. */
export type SignerEvent =
  /** A signature was refused. */
  | { readonly type: "refused"; readonly error: TradewireError }
  /** Something failed for a reason that no program may know. */
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "mode"; readonly mode: GuardMode; readonly by: "program" | "operator" }
  | { readonly type: "killed"; readonly report: KillReport };

/** A signer that is served. */
export interface SignerServer extends AsyncDisposable {
  /** Closes the sockets and removes them. Pending signatures have two seconds to finish. */
  close(): Promise<void>;
}

/** How to connect to a signer process. */
export interface ConnectSignerOptions {
  /** Maximum time for each response, in milliseconds; 15000 by default. */
  readonly timeoutMs?: number | undefined;
  /** Ends the first connection. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A signer in another process.
 *
 * If the process was restarted, the next call connects again. After any error of `sign`, no signature arrived, so
 * nothing could be sent.
 */
export interface RemoteSigner extends Signer, AsyncDisposable {
  /** The chain that the process signs for. */
  readonly chainId: string;
  /**
   * Signs a message if the policy allows it.
   *
   * @param message the complete message, not its digest
   * @returns the signature, 64 bytes
   * @throws {@link PolicyError} if the policy does not allow it
   * @throws {@link RequestError} if the signer refuses the message, or has a different key than before
   * @throws {@link ConnectionError} if the process does not respond; nothing was sent
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Counts a transaction together with those of all other programs. See {@link Signer.takeShare}. */
  takeShare(block: SharedBlock): Promise<SignerShare | undefined>;
  /**
   * Returns the mode of the signer.
   *
   * @returns the mode
   * @throws {@link ConnectionError} if the process does not respond
   */
  mode(): Promise<GuardMode>;
  /**
   * Sets the mode of the signer, for all programs. A program can only set a stricter mode; the operator's socket
   * accepts every mode.
   *
   * @param mode the mode
   * @throws {@link RequestError} if the mode is less strict, and the socket is not the operator's
   * @throws {@link ConnectionError} if the process does not respond
   */
  setMode(mode: GuardMode): Promise<void>;
  /**
   * Halts the signer for all programs, and cancels all orders and stop orders of the key. The signer process does this,
   * so it continues if this program ends.
   *
   * @param options a time limit and a signal for the wait; by default, the limit is 15 seconds longer than the maximum
   *   time of the process
   * @returns the result, as the process observed it
   * @throws {@link ConnectionError} if the process does not respond in time. With `connected`, it may have halted and
   *   canceled orders, and may still be doing so
   * @throws {@link CanceledError} if the signal was aborted. With `mayHaveBeenSent`, the same applies
   */
  kill(options?: KillOptions): Promise<KillReport>;
  /** Closes the connections. Later calls are refused. */
  close(): Promise<void>;
}
