// Arguments that change while a call runs: a caller may write its next order into the same object.

/** What happens to the arguments of a call. */
export const WAYS = ["a getter", "a change after the call", "a change while the call waits"] as const;

export type Way = (typeof WAYS)[number];

/** Arguments, and what can be done to them. */
export interface Changing<T> {
  readonly value: T;
  /** Changes all of it. */
  change(): void;
  /** The paths of the properties that were read more than once, with the number of reads. */
  readMoreThanOnce(): readonly string[];
}

/** Makes arguments change. Functions, signals and objects with methods are replaced as a whole. */
export function changing<T>(original: T, way: Way, replacements: ReadonlyMap<unknown, unknown>): Changing<T>;
export function changing(original: unknown, way: Way, replacements: ReadonlyMap<unknown, unknown>): Changing<unknown> {
  const changes: (() => void)[] = [];
  const reads = new Map<string, number>();

  function wrong(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        return `${value}0`;
      case "bigint":
        return value + 1n;
      case "number":
        return value + 1;
      case "boolean":
        return !value;
      default:
        return replacements.has(value) ? replacements.get(value) : { wrong: true };
    }
  }

  function copyOf(value: unknown, path: string): unknown {
    if (value instanceof Uint8Array) {
      const bytes = Uint8Array.from(value);
      changes.push(() => bytes.fill(255));
      return bytes;
    }
    const isList = Array.isArray(value);
    if (typeof value !== "object" || value === null || !(isList || Object.getPrototypeOf(value) === Object.prototype)) {
      return value;
    }
    if (path !== "" && !isList && Object.values(value).some((each) => typeof each === "function")) {
      return value;
    }
    const copy: object = isList ? [] : {};
    for (const [key, each] of Object.entries(value)) {
      const at = `${path}.${key}`;
      const inner = copyOf(each, at);
      if (way === "a getter" && path !== "" && key !== "$typeName") {
        const get = () => {
          const count = (reads.get(at) ?? 0) + 1;
          reads.set(at, count);
          return count === 1 ? inner : wrong(each);
        };
        Object.defineProperty(copy, key, { get, enumerable: true, configurable: true });
      } else {
        Reflect.set(copy, key, inner);
        if (path !== "" && key !== "$typeName") {
          changes.push(() => void Reflect.set(copy, key, wrong(each)));
        }
      }
    }
    return copy;
  }

  const value = copyOf(original, "");
  return {
    value,
    change() {
      for (const each of changes) {
        each();
      }
    },
    readMoreThanOnce: () => [...reads].filter(([, count]) => count > 1).map(([at, count]) => `${at}: ${count}`),
  };
}
