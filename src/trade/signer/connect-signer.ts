import { assertKnownKeys, assertText, parseSignal } from "../../base/input/assert.js";
import { lazily } from "../../base/input/lazy.js";
import { snapshot } from "../../base/input/snapshot.js";
import type { ConnectSignerOptions, RemoteSigner } from "./signer-types.js";

/** The time for a response of the signer, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** Loads the connection: most programs have the key, or no signer. */
const loadConnection = lazily(() => import("./remote-signer.js"));

/**
 * Connects to a signer process, which `tradewire signer` or `serveSigner` runs.
 *
 * @param path path of its socket
 * @param options a time limit for each response, and a signal
 * @returns the signer
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
  options = snapshot(options);
  assertText("the path of the socket", path, "/run/user/1000/tradewire.sock");
  assertKnownKeys("options", options, { timeoutMs: true, signal: true });
  const signal = parseSignal(options.signal);
  const { openRemoteSigner } = await loadConnection();
  return openRemoteSigner(path, options.timeoutMs ?? TIMEOUT_MS, signal);
}
