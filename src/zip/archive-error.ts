import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";

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

/** A name of the archive's, for a message: on one line and no longer than a line should be. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
}
