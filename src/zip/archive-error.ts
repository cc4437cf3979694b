import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";

const AGAIN = "Export again; if it persists, tell who runs the node.";

/** The error for an archive that is not what it has to be. */
export function corrupt(what: string, cause?: unknown): ProtocolError {
  return new ProtocolError(`the archive is corrupt: ${what}`, { advice: AGAIN, cause });
}

/** The error for an archive that may be whole but is not one of an export. */
export function refused(what: string): ProtocolError {
  return new ProtocolError(`the archive is refused: ${what}`, {
    advice: "No export looks like this (specification, 4.1); check where the archive comes from.",
  });
}

/** The error for an archive that would grow larger than is allowed. */
export function tooLarge(what: string, advice: string): ProtocolError {
  return new ProtocolError(`the archive is too large: ${what}`, { code: Code.ResourceExhausted, advice });
}

/** The error for an archive of which the end is missing. */
export function truncated(size: number): ProtocolError {
  return new ProtocolError(`the archive is truncated: the stream ended after ${size} bytes, before the archive did`, {
    advice:
      "Rows are missing from it. Export again; if it persists, the node or something before it cuts streams short.",
  });
}

/** A name of the archive's, for a message. */
export function nameText(name: string): string {
  return quoted(name, 120);
}

/** A CRC-32 for a message, as ZIP tools write it. */
export function crcText(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}
