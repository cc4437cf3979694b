/** A flag that one task raises and another waits for. */
export interface Flag {
  raise(): void;
  /** Waits until the flag is raised, and lowers it. */
  lowered(): Promise<void>;
}

/**
 * Creates a flag that is not raised. Raising it several times before it is lowered has the effect of one.
 *
 * @example
 * const changed = createFlag();
 * changed.raise();
 * await changed.lowered();
 */
export function createFlag(): Flag {
  let isRaised = false;
  let resolve = (): void => {};
  return {
    raise() {
      isRaised = true;
      resolve();
    },
    async lowered() {
      if (!isRaised) {
        await new Promise<void>((fulfil) => {
          resolve = fulfil;
        });
      }
      isRaised = false;
    },
  };
}
