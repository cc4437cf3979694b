const [COMMA, OPEN_ARRAY, CLOSE_ARRAY] = [0x2c, 0x5b, 0x5d];

/** What stands between the values of a stream, besides whitespace. */
export interface Punctuation {
  /** Take a byte between values; says whether it belongs there. */
  takes(byte: number): boolean;
  /** Take the beginning of a value; says whether one may begin. */
  takesValue(): boolean;
  /** What should have come, for errors. */
  expected(): string;
  /** Whether the stream may end. */
  mayEnd(): boolean;
}

/**
 * The punctuation of values that stand one behind the other: there is none.
 *
 * @param value what a value is, for errors
 * @returns the punctuation
 */
export function noPunctuation(value: string): Punctuation {
  return { takes: () => false, takesValue: () => true, expected: () => value, mayEnd: () => true };
}

/**
 * The punctuation of one JSON array: brackets around it, and commas.
 *
 * @param value what a value is, for errors
 * @returns the punctuation, at the start of the stream
 */
export function arrayPunctuation(value: string): Punctuation {
  let place: "start" | "first" | "behind" | "next" | "end" = "start";

  function after(byte: number): typeof place | undefined {
    switch (place) {
      case "start":
        return byte === OPEN_ARRAY ? "first" : undefined;
      case "first":
        return byte === CLOSE_ARRAY ? "end" : undefined;
      case "behind":
        return byte === COMMA ? "next" : byte === CLOSE_ARRAY ? "end" : undefined;
      default:
        return undefined;
    }
  }

  return {
    takes(byte) {
      const next = after(byte);
      place = next ?? place;
      return next !== undefined;
    },
    takesValue() {
      const isExpected = place === "first" || place === "next";
      place = isExpected ? "behind" : place;
      return isExpected;
    },
    expected() {
      switch (place) {
        case "start":
          return "a JSON array";
        case "end":
          return "the end of the stream";
        case "behind":
          return "a comma or the end of the JSON array";
        default:
          return value;
      }
    },
    mayEnd: () => place === "end",
  };
}
