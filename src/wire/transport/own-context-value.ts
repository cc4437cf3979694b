import { type ContextKey, type ContextValues, createContextValues } from "@connectrpc/connect";

/**
 * Returns context values that override one value, and share all others with a caller's. The caller may use the same context
 * values for other calls.
 */
export function withOwnContextValue<T>(callers: ContextValues, key: ContextKey<T>, value: T): ContextValues {
  const own = createContextValues().set(key, value);
  const ownerOf = ({ id }: { readonly id: symbol }) => (id === key.id ? own : callers);
  const values: ContextValues = {
    get: (each) => ownerOf(each).get(each),
    set(each, newValue) {
      ownerOf(each).set(each, newValue);
      return values;
    },
    delete(each) {
      ownerOf(each).delete(each);
      return values;
    },
  };
  return values;
}
