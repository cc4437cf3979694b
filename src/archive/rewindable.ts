/** Bytes that can be read anew once their beginning was looked at. */
export interface Rewindable {
  /** The bytes. What is taken of them is kept until one of the functions is called. */
  readonly bytes: AsyncGenerator<Buffer, void, undefined>;
  /** Keep nothing more: the bytes are read on. */
  go(): void;
  /** Read the bytes from their beginning. The others are not read on then. */
  rewound(): AsyncGenerator<Buffer, void, undefined>;
}

/**
 * Make bytes that can be read anew.
 *
 * @param source the bytes, split anywhere; its errors are thrown unchanged. It is closed when the bytes are
 * @returns the bytes and the choice
 */
export function rewindable(source: AsyncGenerator<Buffer, void, undefined>): Rewindable {
  let kept: Buffer[] | undefined = [];

  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    for await (const part of source) {
      const at = kept?.push(part) ?? 0;
      yield part;
      kept?.splice(at - 1, 1, Buffer.from(part)); // The source may use its buffer again.
    }
  }

  async function* rewound(): AsyncGenerator<Buffer, void, undefined> {
    const beginning = kept ?? [];
    kept = undefined;
    yield* beginning;
    yield* source;
  }

  return {
    bytes: bytes(),
    go() {
      kept = undefined;
    },
    rewound,
  };
}
