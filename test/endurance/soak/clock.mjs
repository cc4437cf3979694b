// The wall clock as the process sees it, which can jump as that of a machine does that is set or was asleep.

/** Have the process's clock jump. */
export function createJumpingClock() {
  const RealDate = Date;
  let offMs = 0;
  globalThis.Date = class JumpingDate extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [RealDate.now() + offMs] : given));
    }
    static now() {
      return RealDate.now() + offMs;
    }
  };
  return (ms) => {
    offMs = ms;
  };
}
