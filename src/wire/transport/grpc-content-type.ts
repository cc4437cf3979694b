/**
 * Returns the content type of a response that is not gRPC's. As in grpc-go, a content type of gRPC may have parameters.
 */
export function foreignTypeOf(header: Headers, formats: readonly ("proto" | "json")[]): string | undefined {
  const contentType = header.get("content-type") ?? "";
  const [, format] = /^application\/grpc(?:\+([^;\s]*))?\s*(?:;|$)/i.exec(contentType) ?? [undefined, "none"];
  const isAccepted = format === undefined || formats.some((accepted) => accepted === format.toLowerCase());
  return isAccepted ? undefined : contentType;
}
