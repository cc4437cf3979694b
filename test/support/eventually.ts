import { setImmediate, setTimeout } from "node:timers/promises";

/** How often a condition is looked at before a test fails: for a minute at least, and longer on a machine that is slow. */
const LOOKS = 12_000;

/** Looks at once after another, for what is only a few turns of the event loop away. */
const QUICK_LOOKS = 100;

/**
 * Wait until a condition holds. Looks are counted and not time, so that a loaded machine gets the time that it needs.
 *
 * @throws Error with the text of the condition, where it does not come to hold
 */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    if (await holds()) {
      return;
    }
    await (look < QUICK_LOOKS ? setImmediate() : setTimeout(5));
  }
  throw new Error(`this did not come to hold: ${holds}`);
}

/** Turns of the event loop in which nothing changes where nothing is left to do. */
const STILL_TURNS = 200;

/**
 * Wait until a value no longer changes: for many turns of the event loop, in each of which a server and a client of this
 * process would go on if they could. A machine that is slow makes turns longer, not fewer.
 *
 * @throws Error with the text of the value, where it goes on changing
 */
export async function standsStill(value: () => unknown): Promise<void> {
  let last = value();
  let still = 0;
  await eventually(() => {
    const now = value();
    still = Object.is(now, last) ? still + 1 : 0;
    last = now;
    return still === STILL_TURNS;
  });
}
