/** A promise that is fulfilled from outside. */
export interface Gate {
  readonly promise: Promise<void>;
  /** Fulfil the promise. */
  open(): void;
}

/** Make a gate, which is closed. */
export function gate(): Gate {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
