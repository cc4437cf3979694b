import { startTimer } from "../runtime/index.js";
import { onAbort } from "./abort.js";
import { throwIfAborted } from "./wait.js";

/** Tasks that wait for their turn, in a line of its own for each key. */
export interface Turns {
  /**
   * Runs a task when it is its turn. A task that takes long goes on, and another one takes its turn.
   *
   * @throws {@link CanceledError} if the signal is aborted before the turn, and what the task throws
   */
  run<T>(key: string, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
}

interface Line {
  running: number;
  /** The tasks that wait, in their order; each function starts one. */
  readonly waiting: Set<() => void>;
}

/** Creates lines in which no task waits. Without `maxMs`, a turn lasts as long as its task. */
export function createTurns(max: number, maxMs?: number): Turns {
  const lines = new Map<string, Line>();

  function leave(key: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      next(); // In the place of the one that leaves.
      return;
    }
    line.running -= 1;
    if (line.running === 0) {
      lines.delete(key);
    }
  }

  return {
    async run(key, signal, task) {
      throwIfAborted(signal);
      const line = lines.get(key) ?? { running: 0, waiting: new Set() };
      lines.set(key, line);
      if (line.running < max) {
        line.running += 1;
      } else if (!(await getsTurn(line, signal))) {
        throwIfAborted(signal);
      }
      let hasTurn = true;
      const end = () => {
        if (hasTurn) {
          hasTurn = false;
          leave(key, line);
        }
      };
      const stopTimer = maxMs === undefined ? undefined : startTimer(end, maxMs);
      try {
        return await task();
      } finally {
        stopTimer?.();
        end();
      }
    },
  };
}

/** Waits for a turn; returns whether it came before the signal was aborted. */
function getsTurn({ waiting }: Line, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTurn: boolean) => {
      stopListening();
      waiting.delete(start);
      resolve(isTurn);
    };
    const start = () => end(true);
    const stopListening = onAbort(signal, () => end(false));
    waiting.add(start);
  });
}
