/**
 * Name the kind of a value, without the value itself.
 *
 * @param value any value
 * @returns the kind with its article, such as `a number`
 */
export function typeName(value: unknown): string {
  if (value === null) {
    return "null";
  }
  switch (typeof value) {
    case "object":
      return Array.isArray(value) ? "a list" : "an object";
    case "string":
      return "a text";
    case "boolean":
      return "true or false";
    default:
      return value === undefined ? "undefined" : `a ${typeof value}`;
  }
}
