/** The signatures with which the records of an archive begin. */
export const LOCAL_HEADER = 0x04034b50;
export const CENTRAL_HEADER = 0x02014b50;
export const END_RECORD = 0x06054b50;
export const ZIP64_END_RECORD = 0x06064b50;
export const ZIP64_LOCATOR = 0x07064b50;
export const DESCRIPTOR = 0x08074b50;

/** The least sizes of the records in bytes, without names, comments and extra fields. */
export const LOCAL_HEADER_SIZE = 30;
export const END_RECORD_SIZE = 22;
export const ZIP64_END_RECORD_SIZE = 56;
export const ZIP64_LOCATOR_SIZE = 20;

/**
 * Write a signature as it stands in an archive.
 *
 * @param signature one of the signatures above
 * @returns 4 bytes, little-endian
 */
export function signatureBytes(signature: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}
