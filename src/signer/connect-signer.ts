import type { KillOptions, KillReport } from "../guard/guard.js";
import { GUARD_MODES, type GuardMode } from "../guard/policy.js";
import { assertKnownKeys, assertText, invalidValueError, isIntegerIn, parseSignal } from "../input/assert.js";
import { Bytes } from "../runtime/bytes.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { decodeHex } from "../transaction/hex.js";
import { SIGNATURE_BYTES } from "../transaction/signature.js";
import type { SharedBlock, Signer, SignerShare } from "../transaction/signer.js";
import { PATHS, responses } from "./signer-protocol.js";
import { requireOwnSocket, requireUnix } from "./socket-file.js";
import { createSocketRequests, type RequestLimits } from "./socket-requests.js";

/** The time for a response of the signer, in milliseconds. */
const TIMEOUT_MS = 15_000;
/** The time for the kill switch, which waits until no order is left, in milliseconds. */
const KILL_MS = 300_000;

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
 * If the process was restarted, the next call connects again. Every error of a method means that nothing was signed which
 * could be sent: the signature did not arrive.
 */
export interface RemoteSigner extends Signer, AsyncDisposable {
  /** The chain that the process signs for. */
  readonly chainId: string;
  /**
   * Signs a message if the policy allows it.
   *
   * @param message the whole message, not its digest
   * @returns the signature, 64 bytes
   * @throws {@link PolicyError} if the policy does not allow it
   * @throws {@link RequestError} if the signer refuses the message, or has another key than before
   * @throws {@link ConnectionError} if the process does not answer; nothing was sent
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Counts a transaction together with those of all other programs. See {@link Signer.takeShare}. */
  takeShare(block: SharedBlock): Promise<SignerShare | undefined>;
  /**
   * Returns the mode of the signer.
   *
   * @returns the mode
   * @throws {@link ConnectionError} if the process does not answer
   */
  mode(): Promise<GuardMode>;
  /**
   * Sets the mode of the signer, for all programs. A program can only set a stricter mode; the operator's socket accepts
   * each.
   *
   * @param mode the mode
   * @throws {@link RequestError} if the mode is less strict, and the socket is not the operator's
   * @throws {@link ConnectionError} if the process does not answer
   */
  setMode(mode: GuardMode): Promise<void>;
  /**
   * Halts the signer for all programs, and cancels all orders and stop orders of the key. The signer process does this, so
   * that it goes on if this program ends.
   *
   * @param options a time limit and a signal for the wait
   * @returns what the process has observed
   * @throws {@link ConnectionError} if the process does not answer in time
   */
  kill(options?: KillOptions): Promise<KillReport>;
  /** Closes the connections. Later calls are refused. */
  close(): Promise<void>;
}

/**
 * Connects to a signer process, which `tradewire signer` or `serveSigner` runs.
 *
 * @param path path of its socket
 * @param options a time limit for each response, and a signal
 * @returns the signer, for everything that takes one
 * @throws {@link RequestError} if an argument is wrong, or on Windows
 * @throws {@link FileError} if other users could replace the socket
 * @throws {@link ConnectionError} if no signer listens there
 * @throws {@link ProtocolError} if something else listens there
 *
 * @example
 * await using signer = await connectSigner("/run/user/1000/tradewire.sock");
 * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
 */
export async function connectSigner(path: string, options: ConnectSignerOptions = {}): Promise<RemoteSigner> {
  assertText("the path of the socket", path, "/run/user/1000/tradewire.sock");
  assertKnownKeys("options", options, { timeoutMs: true, signal: true });
  const timeoutMs = parseTimeout(options.timeoutMs ?? TIMEOUT_MS);
  const signal = parseSignal(options.signal);
  requireUnix();
  requireOwnSocket(path);
  const { send, close } = createSocketRequests(path);
  const limits: RequestLimits = { timeoutMs };
  const known = await send(PATHS.signer, undefined, responses.signer, { timeoutMs, signal }).catch(
    (reason: unknown) => {
      close();
      throw reason;
    },
  );
  const { publicKey, chainId } = known;
  const disconnect = async () => close();

  return Object.freeze({
    publicKey,
    chainId,

    async sign(message: Uint8Array) {
      if (!(message instanceof Uint8Array)) {
        throw invalidValueError("message", message, "Give the bytes to sign.");
      }
      const body = { publicKey, message: Bytes.from(message).toString("base64") };
      const { signature } = await send(PATHS.sign, body, responses.sign, limits);
      return decodeHex(signature, SIGNATURE_BYTES) ?? new Uint8Array(); // The schema has checked the digits.
    },

    async takeShare({ hash, height }: SharedBlock) {
      const body = { publicKey, hash, height: String(height) };
      const { share } = await send(PATHS.shares, body, responses.shares, limits);
      if (share === null) {
        return undefined;
      }
      let isBack = false;
      return {
        count: share.count,
        giveBack() {
          if (!isBack) {
            isBack = true;
            // If this fails, later transactions are only harder to make.
            send(PATHS.returns, { id: share.id }, responses.returns, limits).catch(() => undefined);
          }
        },
      };
    },

    mode: async () => (await send(PATHS.signer, undefined, responses.signer, limits)).mode,

    async setMode(mode: GuardMode) {
      if (!GUARD_MODES.includes(mode)) {
        throw invalidValueError("mode", mode, `Give ${GUARD_MODES.join(", ")}.`);
      }
      await send(PATHS.mode, { mode }, responses.mode, limits);
    },

    async kill(killOptions: KillOptions = {}) {
      assertKnownKeys("options", killOptions, { timeoutMs: true, signal: true });
      const killMs = parseTimeout(killOptions.timeoutMs ?? KILL_MS);
      const ending = parseSignal(killOptions.signal);
      const { report } = await send(PATHS.kill, {}, responses.kill, { timeoutMs: killMs, signal: ending });
      const { orders, stopOrders, positions } = report;
      return { ...report, orders, stopOrders, positions };
    },

    close: disconnect,
    [Symbol.asyncDispose]: disconnect,
  });
}

function parseTimeout(timeoutMs: number): number {
  if (!isIntegerIn(timeoutMs, 1, MAX_TIMER_MS)) {
    throw invalidValueError("timeoutMs", timeoutMs, `Give whole milliseconds, 1 to ${MAX_TIMER_MS}.`);
  }
  return timeoutMs;
}
