import {
  assertKnownKeys,
  invalidTypeError,
  invalidValueError,
  isIntegerIn,
  parseSignal,
} from "../../base/input/assert.js";
import { isBytes } from "../../base/input/is-bytes.js";
import { withSnapshots } from "../../base/input/snapshot.js";
import { MAX_TIMER_MS } from "../../base/runtime/index.js";
import type { KillOptions } from "../guard/guard.js";
import { KILL_MS } from "../guard/guard-types.js";
import { GUARD_MODES, type GuardMode } from "../guard/policy.js";
import { decodeHex } from "../transaction/hex.js";
import { SIGNATURE_BYTES } from "../transaction/signature.js";
import type { SharedBlock } from "../transaction/signer.js";
import { PATHS, responses } from "./signer-protocol.js";
import type { RemoteSigner } from "./signer-types.js";
import { requireOwnSocket, requireUnix } from "./socket-file.js";
import { createSocketRequests, type RequestLimits } from "./socket-requests.js";

/** How much longer to wait for the report of the kill switch than the signer's own maximum, in milliseconds. */
const REPORT_MS = 15_000;

/**
 * Opens the connection to a signer process.
 *
 * @throws the errors of {@link connectSigner}
 */
export async function openRemoteSigner(
  path: string,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<RemoteSigner> {
  const timeoutMs = parseTimeout(timeout);
  requireUnix();
  requireOwnSocket(path);
  const { send, close } = createSocketRequests(path);
  const limits: RequestLimits = { timeoutMs, effect: "none" };
  const known = await send(PATHS.signer, undefined, responses.signer, { ...limits, signal }).catch(
    (reason: unknown) => {
      close();
      throw reason;
    },
  );
  const { publicKey, chainId } = known;
  const disconnect = async () => close();

  const remote: RemoteSigner = withSnapshots<RemoteSigner>({
    publicKey,
    chainId,

    async sign(message: Uint8Array) {
      if (!isBytes(message)) {
        throw invalidTypeError("message", message, "the bytes to sign");
      }
      const body = { publicKey, message: Buffer.from(message).toString("base64") };
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
        throw invalidValueError("mode", mode, GUARD_MODES.join(" or "));
      }
      await send(PATHS.mode, { mode }, responses.mode, { ...limits, effect: "mode" });
    },

    async kill(killOptions: KillOptions = {}) {
      assertKnownKeys("options", killOptions, { timeoutMs: true, signal: true });
      const killMs = parseTimeout(killOptions.timeoutMs ?? KILL_MS + REPORT_MS);
      const ending = parseSignal(killOptions.signal);
      const killLimits: RequestLimits = { timeoutMs: killMs, signal: ending, effect: "kill" };
      const { report } = await send(PATHS.kill, {}, responses.kill, killLimits);
      const { orders, stopOrders, positions } = report;
      return { ...report, orders, stopOrders, positions };
    },

    close: disconnect,
    [Symbol.asyncDispose]: disconnect,
  });
  return Object.freeze(remote);
}

function parseTimeout(timeoutMs: number): number {
  if (!isIntegerIn(timeoutMs, 1, MAX_TIMER_MS)) {
    throw invalidValueError("timeoutMs", timeoutMs, `a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
  }
  return timeoutMs;
}
