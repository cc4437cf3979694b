import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";

const AGAIN = "Export again; if it persists, tell who runs the node.";

/**
 * The error for an archive that breaks the ZIP format or the rules of an export.
 *
 * @param what the mistake, a clause in which "it" is the archive
 * @param cause what was caught, if anything
 * @returns the error, `DATA_LOSS`
 */
export function corrupt(what: string, cause?: unknown): ProtocolError {
  return new ProtocolError(`the archive is corrupt: ${what}`, {
    advice: AGAIN,
    cause,
    section: "protocolerror-archive",
  });
}

/**
 * The error for an archive that may be whole but cannot be an export.
 *
 * @param what the reason, a clause
 * @returns the error, `DATA_LOSS`
 */
export function refused(what: string): ProtocolError {
  return new ProtocolError(`the archive is refused: ${what}`, {
    advice: "No export looks like this (specification, 4.1); check where the archive comes from.",
    section: "protocolerror-archive",
  });
}

/**
 * The error for an archive that would grow beyond a limit.
 *
 * @param what the limit that it passes, a clause
 * @param advice what the user can do
 * @returns the error, `RESOURCE_EXHAUSTED`
 */
export function tooLarge(what: string, advice: string): ProtocolError {
  return new ProtocolError(`the archive is too large: ${what}`, { code: Code.ResourceExhausted, advice });
}

/**
 * The error for an archive whose end is missing.
 *
 * @param size how many bytes arrived
 * @returns the error, `DATA_LOSS`
 */
export function truncated(size: number): ProtocolError {
  return new ProtocolError(`the archive is truncated: the stream ended after ${size} bytes, before the archive did`, {
    advice:
      "Rows are missing from it. Export again; if it persists, the node or something before it cuts streams short.",
    section: "protocolerror-archive",
  });
}

/**
 * Quote a name for a message.
 *
 * @param name a name from an archive, which may hold anything
 * @returns the name in quotes, at most 120 characters of it
 */
export function nameText(name: string): string {
  return quoted(name, 120);
}

/**
 * Write a CRC-32 as ZIP tools do, for a message.
 *
 * @param crc the checksum
 * @returns 8 hex digits
 */
export function crcText(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
