import {
  assertChainId,
  assertFunction,
  assertKnownKeys,
  assertObject,
  assertText,
  invalidTypeError,
  parseSignal,
} from "../../base/input/assert.js";
import { lazily } from "../../base/input/lazy.js";
import { snapshot } from "../../base/input/snapshot.js";
import { readSigner } from "../transaction/transaction.js";
import type { ConnectSignerOptions, RemoteSigner, ServeSignerOptions, SignerServer } from "./signer-types.js";

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

/** Loads the server: few programs are signer processes. */
const loadServer = lazily(() => import("./signer-server.js"));

/**
 * Serves a signer to other programs of the same user, over a Unix socket of mode 0600. The permissions of the socket are the
 * access control: anyone who can connect can sign within the policy, and set a stricter mode. No part of the key is sent.
 *
 * The transactions of all programs are counted together, so that they stay within the network's spam limits.
 *
 * @param options the signer, its chain, and the paths of the sockets
 * @returns the running server; `close()`, `await using` or the signal closes it
 * @throws {@link RequestError} if an option is wrong, or on Windows
 * @throws {@link FileError} if others can write to the folder of a socket, or it cannot be created
 * @throws {@link ConnectionError} if another process listens on a socket
 *
 * @example
 * await using guard = await client.guard({ signer, policy });
 * await using server = await serveSigner({ guard, chainId: "chain-1", listen: "/run/user/1000/tradewire.sock" });
 */
export async function serveSigner(options: ServeSignerOptions): Promise<SignerServer> {
  options = snapshot(options);
  assertKnownKeys("options", options, {
    guard: true,
    chainId: true,
    listen: true,
    admin: true,
    onEvent: true,
    signal: true,
  });
  const { guard, chainId, listen, admin, onEvent } = options;
  assertObject("guard", guard);
  readSigner(guard);
  if (typeof guard.setMode !== "function" || typeof guard.kill !== "function") {
    throw invalidTypeError("guard", guard, "a result of client.guard()");
  }
  assertChainId("chainId", chainId);
  assertText("listen", listen, "/run/user/1000/tradewire.sock");
  if (admin !== undefined) {
    assertText("admin", admin, "/run/user/1000/tradewire-admin.sock");
  }
  assertFunction("onEvent", onEvent);
  const signal = parseSignal(options.signal);
  const { openSignerServer } = await loadServer();
  return openSignerServer({ ...options, signal });
}
