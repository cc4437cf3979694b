import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError } from "../../base/errors/index.js";
/** Signatures at the start of an archive's records. */
export const LOCAL_HEADER = 0x04034b50;
export const CENTRAL_HEADER = 0x02014b50;
export const END_RECORD = 0x06054b50;
export const ZIP64_END_RECORD = 0x06064b50;
export const ZIP64_LOCATOR = 0x07064b50;
export const DESCRIPTOR = 0x08074b50;

/** Minimum sizes of the records in bytes, without names, comments and extra fields. */
export const LOCAL_HEADER_SIZE = 30;
export const END_RECORD_SIZE = 22;
export const ZIP64_END_RECORD_SIZE = 56;
export const ZIP64_LOCATOR_SIZE = 20;

/** Encodes a signature as archives contain it. */
export function signatureBytes(signature: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}

const RETRY_ADVICE = "Export again. If it fails again, report this to the operator of the node.";

/** Creates the error for an archive that violates the ZIP format or the rules of an export. */
export function corrupt(what: string, cause?: unknown): ProtocolError {
  return new ProtocolError(`the archive is corrupt: ${what}`, {
    advice: RETRY_ADVICE,
    cause,
    errorCode: "TW_INVALID_ARCHIVE",
  });
}

/** Creates the error for an archive that may be complete but cannot be an export. */
export function refused(what: string): ProtocolError {
  return new ProtocolError(`the archive is rejected: ${what}`, {
    advice: "No export looks like this. Check the source of the archive.",
    errorCode: "TW_INVALID_ARCHIVE",
  });
}

export function tooLarge(what: string, advice: string): ProtocolError {
  return new ProtocolError(`the archive is too large: ${what}`, { code: Code.ResourceExhausted, advice });
}

/** Creates the error for an archive without its end. */
export function truncated(size: number): ProtocolError {
  return new ProtocolError(`the archive is truncated: the stream ended after ${size} bytes`, {
    advice: "Rows are missing. Export again. If it persists, the node or a proxy in front of it truncates streams.",
    errorCode: "TW_TRUNCATED_ARCHIVE",
  });
}

export function nameText(name: string): string {
  return quoted(name, 120);
}

/** Formats a CRC-32 as ZIP tools do, for an error message. */
export function crcText(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
