/** The warnings of this process, as they come. */
export interface Warnings extends Disposable {
  /** Their names and messages, such as `TradewireWarning: it is late`. */
  readonly told: readonly string[];
}

/** Take the warnings of this process, which are not printed meanwhile. Node emits them in the next tick. */
export function takeWarnings(): Warnings {
  const told: string[] = [];
  const listener = ({ name, message }: Error) => void told.push(`${name}: ${message}`);
  const others = process.listeners("warning");
  process.removeAllListeners("warning").on("warning", listener);
  return {
    told,
    [Symbol.dispose]() {
      process.off("warning", listener);
      for (const other of others) {
        process.on("warning", other);
      }
    },
  };
}
