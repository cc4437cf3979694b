import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdtemp, rename, rm, rmdir, stat } from "node:fs/promises";
import { request, type Server } from "node:http";
import { dirname, join, resolve } from "node:path";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, FileError, RequestError } from "../../base/errors/index.js";
import { fileError, hasErrorCode, quotedPath, shownPath } from "../../base/errors/node-errors.js";
import { currentUser, entryExposure, exposure, pathExposure } from "../../base/file/exposure.js";
import { takeLock } from "../../base/file/lock-file.js";
import { timeoutSignal } from "../../base/runtime/index.js";

/**
 * Maximum size of the path of a socket in bytes. The address of a Unix socket has space for 104 bytes on macOS and 108 on
 * Linux, and the socket is created under a longer name first.
 */
const MAX_PATH_BYTES = 88;

/** The time in which another process has to answer on a socket, in milliseconds. */
const PROBE_MS = 1000;

const ADVICE = {
  ENOENT: "Create the folder first, with `mkdir -m 700`.",
  EACCES: "Choose a folder that you can write to.",
};

/**
 * Lets a server listen on a Unix socket that only the user can connect to: the socket has mode 0600, and nobody else can
 * write to its folder. The socket of a process that has ended is replaced.
 *
 * @throws {@link RequestError} if the path is too long, or on Windows
 * @throws {@link FileError} if others can write to the folder, the path is another kind of file, or the folder cannot be
 *   written to
 * @throws {@link ConnectionError} if another process listens on the socket
 */
export async function listenOnSocket(server: Server, path: string): Promise<AsyncDisposable> {
  requireUnix();
  const socket = resolve(path);
  if (Buffer.byteLength(socket) > MAX_PATH_BYTES) {
    throw new RequestError(`the path ${quotedPath(socket)} exceeds ${MAX_PATH_BYTES} bytes`, {
      advice: "Choose a shorter path for the socket, such as /run/user/1000/tradewire.sock.",
    });
  }
  await requirePrivateFolder(socket);
  const lock = await takeLock(`${socket}.lock`).catch((reason: unknown) => {
    throw fileError(reason, socket, ADVICE);
  });
  if (!lock.held) {
    throw inUse(socket, lock.pid);
  }
  try {
    await requireUnused(socket);
    const { ino, dev } = await bind(server, socket);
    return {
      async [Symbol.asyncDispose]() {
        const now = await lstat(socket).catch(() => undefined);
        if (now?.ino === ino && now.dev === dev) {
          await rm(socket, { force: true });
        }
        await lock[Symbol.asyncDispose]();
      },
    };
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason instanceof FileError || reason instanceof ConnectionError ? reason : fileError(reason, socket, ADVICE);
  }
}

/**
 * Throws on Windows, whose sockets have no permissions.
 *
 * @throws {@link RequestError} on Windows
 */
export function requireUnix(): void {
  if (process.platform === "win32") {
    throw new RequestError("a signer process is not supported on Windows", {
      advice:
        "Its protection relies on the permissions of a Unix socket. Use Linux or macOS, or sign in the program itself.",
    });
  }
}

/** Refuses a folder that others can write to. Unlike a key file, a socket may not be in a sticky folder such as /tmp. */
async function requirePrivateFolder(socket: string): Promise<void> {
  const user = currentUser();
  const folder = dirname(socket);
  const stats = await stat(folder).catch((reason: unknown) => {
    throw fileError(reason, folder, ADVICE);
  });
  const found = user === undefined ? undefined : (exposure("the folder", stats, user) ?? pathExposure(socket, user));
  if (found !== undefined) {
    throw new FileError(`${shownPath(socket)}: ${found}, so others could replace the socket`, {
      code: Code.PermissionDenied,
      advice: "Use a folder that only you can write to, such as /run/user/UID or one created with `mkdir -m 700`.",
    });
  }
}

/**
 * Rejects a socket of a signer that others could have created.
 *
 * @throws {@link FileError} if another user owns it, or can replace it
 */
export function requireOwnSocket(path: string): void {
  const user = currentUser();
  if (user === undefined) {
    return;
  }
  let found: string | undefined;
  try {
    found = pathExposure(path, user) ?? (existsSync(path) ? entryExposure(path, user, "it") : undefined);
  } catch (reason) {
    throw fileError(reason, path, { ENOENT: "Check the path of the socket: its folder does not exist." });
  }
  if (found !== undefined) {
    throw new FileError(`${shownPath(path)}: ${found}, so the signer may belong to another user`, {
      code: Code.PermissionDenied,
      advice: "Use the socket of your own signer process, in a folder that only you can write to.",
    });
  }
}

/** Refuses to replace a file that is not a socket, or a socket on which a process listens. */
async function requireUnused(socket: string): Promise<void> {
  const stats = await lstat(socket).catch((reason: unknown) => {
    if (!hasErrorCode(reason, "ENOENT")) {
      throw reason;
    }
  });
  if (stats === undefined) {
    return;
  }
  if (!stats.isSocket()) {
    throw new FileError(`${shownPath(socket)}: already exists and is not a socket`, {
      code: Code.AlreadyExists,
      advice: "Choose another path, or remove the file: only a socket is replaced.",
    });
  }
  if (!(await isRefused(socket))) {
    throw inUse(socket, undefined);
  }
}

function inUse(socket: string, pid: number | undefined): ConnectionError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new ConnectionError(`${who} is already listening on ${quotedPath(socket)}`, {
    code: Code.AlreadyExists,
    advice: "Use that signer, stop it, or choose another path.",
    errorCode: "TW_LISTEN",
  });
}

/** Returns whether a connection to a socket is refused, since the process that created it has ended. */
function isRefused(socketPath: string): Promise<boolean> {
  return new Promise((found) => {
    const probe = request({ socketPath, path: "/", signal: timeoutSignal(PROBE_MS) });
    probe.on("error", (reason) => found(hasErrorCode(reason, "ECONNREFUSED")));
    probe.on("response", (response) => {
      response.destroy();
      found(false);
    });
    probe.end();
  });
}

/**
 * Creates the socket in a folder that only the user can enter, since its permissions are set after it exists, and gives it
 * its name then.
 */
async function bind(server: Server, socket: string): Promise<{ readonly ino: number; readonly dev: number }> {
  const folder = await mkdtemp(join(dirname(socket), ".signer-"));
  const first = join(folder, "s");
  try {
    server.listen(first);
    await once(server, "listening");
    await chmod(first, 0o600);
    const made = await lstat(first);
    await rename(first, socket);
    return made;
  } finally {
    await rm(first, { force: true });
    await rmdir(folder);
  }
}
