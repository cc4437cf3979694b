import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { Code } from "../errors/code.js";
import { FileError, TradewireError } from "../errors/error-classes.js";
import { errorCodes, isError } from "../errors/node-errors.js";

/** How many more files than now may be open while code is loaded: those that a module imports are read at the same time. */
const MAX_OPEN = 32;

/**
 * Returns a function that loads code when it is needed. What is loaded stays loaded: later calls read no file, so that they work even
 * if the package was replaced meanwhile. A failure is not remembered, so that the next call tries again.
 *
 * @throws {@link FileError} from that function, if the code cannot be loaded
 */
export function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  return remembered(() => loadCode(load));
}

/** Returns a function that loads something at the first call. A failure is not remembered, so that the next call tries again. */
export function remembered<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((reason: unknown) => {
      loading = undefined;
      throw reason;
    });
    return loading;
  };
}

/** Starts to load code that is needed soon. If that fails, the first use tries again and reports the failure. */
export function startLoading(...loads: readonly (() => Promise<unknown>)[]): void {
  for (const load of loads) {
    load().catch(() => undefined);
  }
}

async function loadCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    requireDescriptors();
    return await load();
  } catch (cause) {
    throw cause instanceof TradewireError ? cause : loadError(cause);
  }
}

/**
 * Throws if too few files can be opened. Node remembers that a module could not be read, and never reads it again, so that no import
 * may start then.
 */
function requireDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < MAX_OPEN) {
      opened.push(openSync(devNull, "r"));
    }
  } catch (reason) {
    if (isOutOfDescriptors(reason)) {
      throw reason;
    }
  } finally {
    for (const descriptor of opened) {
      closeSync(descriptor);
    }
  }
}

function isOutOfDescriptors(reason: unknown): boolean {
  return errorCodes(reason).some((code) => code === "EMFILE" || code === "ENFILE");
}

function loadError(cause: unknown): FileError {
  if (isOutOfDescriptors(cause)) {
    return new FileError("code of tradewire could not be loaded: too many open files", {
      code: Code.ResourceExhausted,
      errorCode: "TW_NOT_LOADED",
      advice: "Close files or connections, or raise the limit (ulimit -n), and try again.",
      cause,
    });
  }
  const [why = ""] = (isError(cause) ? cause.message : String(cause)).split("\n");
  return new FileError(`code of tradewire could not be loaded: ${why}`, {
    code: Code.Unavailable,
    errorCode: "TW_NOT_LOADED",
    advice:
      "The files of the package were moved or replaced, or are damaged. Install it again, and restart the program.",
    cause,
  });
}
