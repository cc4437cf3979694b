import { constants } from "node:os";
import type { Readable } from "node:stream";
import { styleText } from "node:util";
import type { JsonValue } from "@bufbuild/protobuf";
import type { ErrorWording } from "../base/errors/error-text.js";
import { truncate } from "../base/errors/error-text.js";
import { TradewireError, type TypedObject } from "../base/errors/index.js";
import { raceAbort } from "../base/signal/abort.js";
import type { LoadedConfig } from "../index.js";
import { jsonReplacer } from "../wire/json/json-values.js";
import { wrapped } from "./formatting.js";

/** A stream that may be a terminal, with its size in characters. */
type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** The output streams of a command: results go to `out`, errors to `err`. */
export interface Streams {
  readonly out: Output;
  readonly err: Output;
  /** Standard error for notes and progress, which `--quiet` discards. Warnings, of what a result lacks or of a risk, go to `err`. */
  readonly notes: Output;
  /** The environment variables, which also decide on widths and colors. */
  readonly environment: CommandEnvironment;
  /** Receives each loaded configuration of a client. */
  readonly onConfig: (loaded: LoadedConfig) => void;
}

/**
 * What standard output is to a command. It decides what follows if it cannot be written:
 *
 * - `rows`: the output is the purpose. The command ends, with 0 if the reader has gone, and with 1 otherwise.
 * - `answer`: the exit code is an answer, or the work goes on without a reader. The command continues, and keeps its exit code.
 * - `response`: the output is the response to a call that may have changed something. The command continues, and exits with 3.
 */
export type OutputRole = "rows" | "answer" | "response";

/** The state of a command's standard output. */
export interface CommandOutput {
  /** `rows` until the command sets another role, which it does before it sends or prints anything. */
  role: OutputRole;
  /** Whether something was written, so that an error cannot be the only document any more. */
  isBegun: boolean;
  /** The first failure. Nothing that is written after it arrives. */
  readonly failure: Error | undefined;
  /** Takes note of a failure. Only the first one counts, and is reported. */
  fail(reason: Error): void;
}

/** Standard input, and the signal that ends reading it. */
export type InputContext = Pick<CommandContext, "in" | "signal">;

/** Standard output, and the signal that ends waits for its reader. */
export type OutputContext = Pick<CommandContext, "out" | "output" | "signal">;

/** The streams and the signal that a command runs with. */
export interface CommandContext extends Streams {
  readonly output: CommandOutput;
  /** Standard input, for commands that read it. */
  readonly in: Readable;
  /** Aborted on Ctrl-C and on each other of the {@link ENDING_SIGNALS}, with an {@link Interruption}. */
  readonly signal: AbortSignal;
}

/**
 * The signals that make a command clean up and end: Ctrl-C, a closed terminal, Ctrl-\\, and the one that service managers send.
 */
export const ENDING_SIGNALS = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM"] as const;

/** The reason of the abort of a command that a signal interrupts. */
export class Interruption extends DOMException {
  /** The signal that was sent to the process. */
  readonly by: (typeof ENDING_SIGNALS)[number];

  constructor(by: (typeof ENDING_SIGNALS)[number]) {
    super(`the command was sent ${by}`, "AbortError");
    this.by = by;
  }
}

/** Returns whether a command was ended by SIGTERM, as service managers do, and not by Ctrl-C. */
export function isTerminated({ reason }: { readonly reason?: unknown }): boolean {
  return reason instanceof Interruption && reason.by === "SIGTERM";
}

/** The width of a terminal of unknown size. */
const COLUMNS = 80;

/** Returns the width that text must fit: that of the terminal, or of the environment variable COLUMNS. */
export function widthOf({ out: { isTTY, columns }, environment }: Pick<Streams, "out" | "environment">): number {
  if (isTTY !== true) {
    return Number.POSITIVE_INFINITY;
  }
  const columnsVariable = Number(environment["COLUMNS"]);
  return Number.isSafeInteger(columnsVariable) && columnsVariable > 0 ? columnsVariable : columns || COLUMNS;
}

/** The exit codes; `unknown` is for a transaction that was sent and whose outcome is unknown. */
export const EXIT = { ok: 0, failure: 1, usage: 2, unknown: 3 } as const;

/**
 * Returns the exit code of a command that a signal ended. Like that of shells, it is 128 plus the number of the signal.
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

/** Thrown when a command ends because its standard output cannot be written, which {@link CommandOutput.failure} describes. */
export class OutputClosed extends Error {}

/**
 * Writes a part of the output, and waits until the system has taken all of it, so that the reader sets the pace.
 *
 * @throws for rows only: the reason of the signal if it is aborted before the write, {@link CanceledError} if it is aborted
 *   during the wait, and {@link OutputClosed} if the part cannot be written
 */
export async function writeOut(context: OutputContext, part: string | Uint8Array): Promise<void> {
  if (context.output.role === "rows") {
    context.signal.throwIfAborted();
  }
  await deliver(context, part);
}

/**
 * Writes a part of the output like {@link writeOut}, but also if the signal is already aborted: for what a command has done.
 *
 * @throws as {@link writeOut} does, except for a signal that is aborted before the write
 */
export async function deliver({ out, output, signal }: OutputContext, part: string | Uint8Array): Promise<void> {
  output.isBegun = true;
  const written = new Promise<void>((resolve, reject) => {
    out.write(part, (reason) => {
      if (reason instanceof Error) {
        output.fail(reason);
        reject(new OutputClosed());
      } else {
        resolve();
      }
    });
  });
  try {
    await (signal.aborted ? Promise.race([written, undefined]) : raceAbort(written, signal));
  } catch (reason) {
    if (output.role === "rows") {
      throw reason;
    }
  }
}

/** Characters that control a terminal, change the direction of text, end lines, or are invisible. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Formats a value as one line of JSON, with characters escaped that could control the user's terminal or are invisible.
 */
export function json(value: unknown): string {
  const text = JSON.stringify(value, jsonReplacer);
  return `${escapedJson(text)}\n`;
}

/** Escapes the characters of JSON that could control the user's terminal or are invisible. */
export function escapedJson(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Formats a value as indented JSON, with characters escaped like {@link json} does. */
export function indentedJson(value: JsonValue): string {
  return `${JSON.stringify(value, undefined, 2).split("\n").map(escapedJson).join("\n")}\n`;
}

/** Writes values as they come as the items of a JSON array, which is a member of an object if it has a name. */
export async function writeJsonArray(
  context: OutputContext,
  values: AsyncIterable<unknown>,
  name?: string,
): Promise<void> {
  let before = name === undefined ? "[" : `{${JSON.stringify(name)}:[`;
  for await (const value of values) {
    await writeOut(context, `${before}\n${json(value).trimEnd()}`);
    before = ",";
  }
  const start = before === "," ? "\n" : before;
  await writeOut(context, `${start}]${name === undefined ? "" : "}"}\n`);
}

/** The maximum length of each detail of an error, in characters. */
const MAX_DETAIL = 1000;

/** How an error is printed. */
export interface ErrorTextOptions {
  /** A summary and advice that replace the error's own. */
  readonly wording?: ErrorWording | undefined;
  /** The stream that it is printed on; without it, the text is not colored. */
  readonly to?: Pick<Streams, "err" | "environment"> | undefined;
  /** Whether the command that explains the error is named; by default on a terminal, except for errors of usage. */
  readonly namesExplanation?: boolean | undefined;
}

export function errorText(
  reason: unknown,
  { wording, to, namesExplanation = to?.err.isTTY === true && !isUsage(reason) }: ErrorTextOptions = {},
): string {
  if (!(reason instanceof TradewireError)) {
    return `${head(reason instanceof Error ? reason.message : String(reason), to)}\n`;
  }
  const { summary, advice } = wording ?? reason;
  const further = reason.details.filter((detail) => !isInSummary(detail, summary));
  const details = further.map((detail) => `  ${printable(truncate(JSON.stringify(detail), MAX_DETAIL))}\n`);
  const place = reason.explanation;
  const reference = namesExplanation
    ? `${to === undefined ? place : styled(to.err, "dim", place, to.environment)}\n`
    : "";
  return `${twoLines(summary, advice, to)}${details.join("")}${reference}`;
}

/** Returns whether an error is about how the command was typed, which its own text explains. */
function isUsage(reason: unknown): boolean {
  return reason instanceof TradewireError && reason.errorCode === "TW_USAGE";
}

/** Returns whether a summary includes the texts of a detail, like that of a node's error includes its reasons. */
function isInSummary({ "@type": type, message, inner }: TypedObject, summary: string): boolean {
  const texts = [message, inner].filter((text) => text !== undefined && text !== "");
  const areIncluded = texts.every((text) => typeof text === "string" && summary.includes(text));
  return type.endsWith("/vega.ErrorDetail") && texts.length > 0 && areIncluded;
}

function twoLines(summary: string, advice: string, to: ErrorTextOptions["to"]): string {
  return `${head(summary, to)}\n${advice === "" ? "" : `${lines(printable(advice), to)}\n`}`;
}

function head(summary: string, to: ErrorTextOptions["to"]): string {
  const text = lines(`tradewire: ${printable(summary)}`, to);
  return to === undefined
    ? text
    : text.replace(/^tradewire:/, (name) => styled(to.err, ["bold", "red"], name, to.environment));
}

/** Breaks a text at its spaces where it would not fit the terminal. */
function lines(text: string, to: ErrorTextOptions["to"]): string {
  return to === undefined ? text : wrapped(text, widthOf({ out: to.err, environment: to.environment })).join("\n");
}

export function errorJson(reason: unknown, wording?: ErrorWording): string {
  const plain = { name: "Error", code: "UNKNOWN", message: reason instanceof Error ? reason.message : String(reason) };
  const replaced = wording && { message: wording.summary, advice: wording.advice };
  return json({ error: reason instanceof TradewireError ? { ...reason.toJSON(), ...replaced } : plain });
}

/**
 * Escapes the characters of a text that control a terminal or are invisible. Text from the network must not control the
 * user's terminal.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Escapes each line of a text like {@link printable} does. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** The environment variables of a command. The command removes its signing seed from them. */
export type CommandEnvironment = Record<string, string | undefined>;

/** A style of Node's `styleText`. */
type Style = Parameters<typeof styleText>[0];

/**
 * Returns whether text for a stream is colored. Terminals are colored by default; the environment variable NO_COLOR turns colors
 * off, FORCE_COLOR on or off, and NO_COLOR takes precedence.
 */
export function isColored(
  { isTTY }: { readonly isTTY?: boolean | undefined },
  { NO_COLOR = "", FORCE_COLOR = "", TERM }: CommandEnvironment,
): boolean {
  if (NO_COLOR !== "") {
    return false;
  }
  return FORCE_COLOR === "" ? isTTY === true && TERM !== "dumb" : !["0", "false"].includes(FORCE_COLOR);
}

/** Styles a text for a stream, if the stream is colored. */
export function styled(
  stream: { readonly isTTY?: boolean | undefined },
  style: Style,
  text: string,
  environment: CommandEnvironment,
): string {
  // Node's validation looks at standard output, which may be another stream.
  return isColored(stream, environment) ? styleText(style, text, { validateStream: false }) : text;
}
