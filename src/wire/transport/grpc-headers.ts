/**
 * Returns the content type of a response that is not gRPC's. As in grpc-go, a content type of gRPC may have parameters.
 */
export function foreignTypeOf(contentType: string, formats: readonly ("proto" | "json")[]): string | undefined {
  const [, format] = /^application\/grpc(?:\+([^;\s]*))?\s*(?:;|$)/i.exec(contentType) ?? [undefined, "none"];
  const isAccepted = format === undefined || formats.some((accepted) => accepted === format.toLowerCase());
  return isAccepted ? undefined : contentType;
}

/** The maximum number of digits of a time in the header. */
const MAX_DIGITS = 8;

/**
 * Formats a time for the header `grpc-timeout`: in milliseconds, or in seconds if these have too many digits. Over HTTP/1.1,
 * grpc-gateway reads the same header (github.com/grpc-ecosystem/grpc-gateway, runtime/context.go), so that the node
 * stops working on a call whose deadline has passed.
 */
export function formatTimeout(timeMs: number): string {
  const text = `${Math.ceil(timeMs)}`;
  return text.length > MAX_DIGITS ? `${Math.ceil(timeMs / 1000)}S` : `${text}m`;
}
