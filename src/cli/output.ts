import { once } from "node:events";
import type { Readable } from "node:stream";
import { TradewireError } from "../errors/index.js";

/** Where a command writes: results to `out`, everything else to `err`. */
export interface Streams {
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly err: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** What every command is run with. */
export interface CommandContext extends Streams {
  /** Standard input, for those that are told to read it. */
  readonly in: Readable;
  /** Aborted on Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
}

/** The command has failed and has said so in its output. */
export class Reported extends Error {}

/**
 * Write a part of the output, and wait until there is room for more: who reads it sets the pace.
 *
 * @throws the signal's reason where it is aborted
 */
export async function writeOut(
  { out, signal }: Pick<CommandContext, "out" | "signal">,
  part: string | Uint8Array,
): Promise<void> {
  signal.throwIfAborted();
  if (!out.write(part)) {
    await once(out, "drain", { signal });
  }
}

/** One JSON document on a line of its own; 64-bit numbers are strings in it, as in Protobuf's JSON. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? String(item) : item))}\n`;
}

/** An error for a person: what went wrong, what to do, and the node's details. */
export function errorText(reason: unknown): string {
  if (!(reason instanceof TradewireError)) {
    return `tradewire: ${reason instanceof Error ? reason.message : String(reason)}\n`;
  }
  const details = reason.details.map((detail) => `  ${printable(JSON.stringify(detail))}\n`);
  return `tradewire: ${printable(reason.summary)}\n${reason.advice}\n${details.join("")}`;
}

/** An error for a machine. */
export function errorJson(reason: unknown): string {
  const plain = { name: "Error", code: "UNKNOWN", message: reason instanceof Error ? reason.message : String(reason) };
  return json({ error: reason instanceof TradewireError ? reason : plain });
}

/** A text without what would steer a terminal: what the network sends must not. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** A number of bytes for a person. */
export function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A table with aligned columns; those of numbers alone to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = header.map((name, column) => {
    const cells = rows.map((row) => row[column] ?? "");
    const width = cells.reduce((longest, cell) => Math.max(longest, cell.length), name.length);
    return { width, isNumeric: cells.every((cell) => /^[\d.,]*$/.test(cell)) };
  });
  const line = (cells: readonly string[]) =>
    columns
      .map(({ width, isNumeric }, column) => {
        const cell = cells[column] ?? "";
        return isNumeric ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return `${[header, ...rows].map(line).join("\n")}\n`;
}
