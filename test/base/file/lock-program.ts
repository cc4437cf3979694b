// Takes a lock each time that the parent says so, and holds it until the parent says to release it.
import { type Lock, takeLock } from "../../../src/base/file/lock-file.js";

let held: Lock | undefined;

async function obey({ take, afterMs }: { take?: string; afterMs?: number }): Promise<boolean> {
  if (take === undefined) {
    await held?.[Symbol.asyncDispose]();
    held = undefined;
    return false;
  }
  const begun = performance.now();
  while (performance.now() - begun < (afterMs ?? 0)) {
    // Processes that begin at once do not all do the same at the same time.
  }
  const lock = await takeLock(take);
  held = lock.held ? lock : undefined;
  return lock.held;
}

process.on("message", (message: { take?: string; afterMs?: number }) => {
  obey(message).then(
    (isHeld) => process.send?.({ isHeld }),
    (reason: unknown) => process.send?.({ failed: String(reason) }),
  );
});
