import { once } from "node:events";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import type { JsonValue } from "@bufbuild/protobuf";
import { TradewireError, type TypedObject } from "../errors/index.js";
import { cut } from "../errors/quoted.js";
import { jsonReplacer } from "../json/replacer.js";
import { untilAborted } from "../signal/until-aborted.js";
import type { Told } from "./option-names.js";
import { type CommandEnvironment, styled } from "./style.js";

/** A stream that may be a terminal, which tells its size in characters. */
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** The output streams of a command: results go to `out`, errors to `err`. */
export interface Streams {
  readonly out: Output;
  readonly err: Output;
  /** Standard error for what is no error: notes and progress. With `--quiet` it takes nothing. */
  readonly notes: Output;
  /** The environment variables, which also say how text is laid out and coloured. */
  readonly environment: CommandEnvironment;
}

/** The streams and the signal that a command runs with. */
export interface CommandContext extends Streams {
  /** Standard input, for commands that are told to read it. */
  readonly in: Readable;
  /** Aborted on Ctrl-C and on each other of the {@link ENDING_SIGNALS}, with an {@link Interruption}. */
  readonly signal: AbortSignal;
}

/** The signals that end a command in order: Ctrl-C, a terminal that was closed, Ctrl-\\, and that of service managers. */
export const ENDING_SIGNALS = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"] as const;

/** Why a command is interrupted. */
export class Interruption extends DOMException {
  /** The signal that the process was sent. */
  readonly by: (typeof ENDING_SIGNALS)[number];

  constructor(by: (typeof ENDING_SIGNALS)[number]) {
    super(`the command was sent ${by}`, "AbortError");
    this.by = by;
  }
}

/**
 * Tell whether a command is ended by SIGTERM, as service managers end one, and not by Ctrl-C.
 *
 * @param signal the command's signal
 * @returns whether it is
 */
export function isTerminated({ reason }: { readonly reason?: unknown }): boolean {
  return reason instanceof Interruption && reason.by === "SIGTERM";
}

/** The exit codes. The outcome of a transaction that was sent may be unknown. */
export const EXIT = { ok: 0, failure: 1, usage: 2, unknown: 3 } as const;

/**
 * Choose the exit code of a command that a signal ended, as shells do: 128 and the signal's number.
 *
 * @param signal the command's signal, which is aborted
 * @returns the exit code, such as 130 for SIGINT
 */
export function interruptedCode({ reason }: { readonly reason?: unknown }): number {
  return 128 + constants.signals[reason instanceof Interruption ? reason.by : "SIGINT"];
}

/** Thrown when a command has failed and its output already reports the failure. */
export class Reported extends Error {
  /** The exit code of the command. */
  readonly exitCode: number;

  constructor(exitCode: number = EXIT.failure) {
    super();
    this.exitCode = exitCode;
  }
}

/**
 * Write a part of the output, and wait until there is room for more, so that the reader sets the pace.
 *
 * @param context standard output, and the signal that ends the wait
 * @param part text, or bytes
 * @throws the signal's reason if the signal is aborted before the write, an `AbortError` if it is aborted during the
 *   wait
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

/**
 * Write a part of the output, and wait until it has left the process.
 *
 * @param context standard output, and the signal that ends the wait
 * @param part text, or bytes
 * @throws the signal's reason if the signal is aborted before; {@link CanceledError} if it is aborted during the wait; what
 *   the stream fails with
 */
export async function writeThrough(
  { out, signal }: Pick<CommandContext, "out" | "signal">,
  part: string | Uint8Array,
): Promise<void> {
  signal.throwIfAborted();
  const written = new Promise<void>((resolve, reject) => {
    out.write(part, (error) => (error ? reject(error) : resolve()));
  });
  await untilAborted(written, signal);
}

/** Characters that control a terminal, turn the direction of text, end lines, or cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Write a value as one line of JSON. Characters that could control the user's terminal, or hide, are escaped.
 *
 * @param value the value; 64-bit numbers become strings, as in Protobuf's JSON
 * @returns the JSON text and a line feed
 */
export function json(value: unknown): string {
  const text = JSON.stringify(value, jsonReplacer);
  return `${escapedJson(text)}\n`;
}

/**
 * Escape the characters of JSON that could control the user's terminal, or hide.
 *
 * @param text the JSON text, on one line
 * @returns JSON of the same value
 */
export function escapedJson(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/**
 * Write a value as JSON for a person: over several lines and indented. Characters are escaped as by {@link json}.
 *
 * @param value a JSON value
 * @returns lines of text
 */
export function indentedJson(value: JsonValue): string {
  return `${JSON.stringify(value, undefined, 2).split("\n").map(escapedJson).join("\n")}\n`;
}

/** The most characters that are shown of each detail of an error. */
const MAX_DETAIL = 1000;

/** How an error is told: with what words of its own, and where. */
export interface Telling {
  /** Words in place of the error's own. */
  readonly told?: Told | undefined;
  /** Where it goes; without it, it is not coloured. */
  readonly to?: Pick<Streams, "err" | "environment"> | undefined;
  /** Whether it is told where the package says more; by default on a terminal. */
  readonly refers?: boolean | undefined;
}

/**
 * Describe an error for a person.
 *
 * @param reason the value that was thrown
 * @param telling how it is told
 * @returns lines with the error, the advice, the node's details that the error does not tell already and, where it refers, the place that tells more
 */
export function errorText(reason: unknown, { told, to, refers = to?.err.isTTY === true }: Telling = {}): string {
  if (!(reason instanceof TradewireError)) {
    return `${head(reason instanceof Error ? reason.message : String(reason), to)}\n`;
  }
  const { summary, advice } = told ?? reason;
  const untold = reason.details.filter((detail) => !isTold(detail, summary));
  const details = untold.map((detail) => `  ${printable(cut(JSON.stringify(detail), MAX_DETAIL))}\n`);
  const place = `See ${reason.docs} of tradewire.`;
  const reference = refers ? `${to === undefined ? place : styled(to.err, "dim", place, to.environment)}\n` : "";
  return `${twoLines(summary, advice, to)}${details.join("")}${reference}`;
}

/** Whether a summary has the texts of a detail already, as that of a node's error has the reasons. */
function isTold({ "@type": type, message, inner }: TypedObject, summary: string): boolean {
  const texts = [message, inner].filter((text) => text !== undefined && text !== "");
  const isInSummary = texts.every((text) => typeof text === "string" && summary.includes(text));
  return type.endsWith("/vega.ErrorDetail") && texts.length > 0 && isInSummary;
}

/**
 * Write the two lines of an error.
 *
 * @param summary what went wrong
 * @param advice what to do
 * @param to where they go; without it, they are not coloured
 * @returns the lines
 */
export function twoLines(summary: string, advice: string, to?: Telling["to"]): string {
  return `${head(summary, to)}\n${printable(advice)}\n`;
}

function head(summary: string, to?: Telling["to"]): string {
  const name = to === undefined ? "tradewire:" : styled(to.err, ["bold", "red"], "tradewire:", to.environment);
  return `${name} ${printable(summary)}`;
}

/**
 * Describe an error for a program.
 *
 * @param reason the value that was thrown
 * @param told words in place of the error's own
 * @returns a line with a JSON object, whose member `error` describes the error
 */
export function errorJson(reason: unknown, told?: Told): string {
  const plain = { name: "Error", code: "UNKNOWN", message: reason instanceof Error ? reason.message : String(reason) };
  const own = told && { message: told.summary, advice: told.advice };
  return json({ error: reason instanceof TradewireError ? { ...reason.toJSON(), ...own } : plain });
}

/**
 * Escape the characters of a text that control a terminal, or hide. Text from the network must not control the user's terminal.
 *
 * @param text the text
 * @returns the text with each such character as `\u{…}`
 */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/**
 * Escape a text of several lines as {@link printable} does, but for the ends of its lines.
 *
 * @param text the text
 * @returns the text, with the same lines
 */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/**
 * Format a size for a person.
 *
 * @param bytes the number of bytes
 * @returns the size with a unit, such as `1.5 MiB`
 */
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
