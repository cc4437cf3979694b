import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { replaceFileSync } from "../../base/file/atomic-file.js";
import { linkedController, onAbort } from "../../base/signal/abort.js";
import { type CommandContext, errorText, OutputClosed, Reported } from "../output.js";
import { cacheFolder, type OpenedSource } from "./query-sources.js";

/** The number of lines in the history of the prompt. */
const HISTORY_LINES = 1000;

const [PROMPT, CONTINUED] = ["tradewire> ", "       ... "];

const HELP = `Statements end with a semicolon. Tab completes, the arrow up recalls earlier lines, Ctrl-C interrupts a statement.
SHOW TABLES lists tables and views, DESCRIBE trades_v lists columns. .exit or Ctrl-D ends the prompt.
`;

const KEYWORDS =
  "SELECT FROM WHERE GROUP BY ORDER LIMIT HAVING JOIN LEFT ON USING AS AND OR NOT NULL IS IN LIKE BETWEEN DISTINCT DESC ASC WITH UNION ALL CASE WHEN THEN ELSE END INTERVAL DESCRIBE SHOW TABLES SUMMARIZE count( sum( min( max( avg( date_trunc(".split(
    " ",
  );

/**
 * Reads statements from a terminal and runs them, until the input ends. The error of a statement is printed, and the prompt goes on.
 *
 * @param run runs a statement and prints its rows
 * @throws the reason of the context's signal, if it is aborted; {@link OutputClosed}
 */
export async function runPrompt(
  source: OpenedSource,
  run: (sql: string, source: OpenedSource, context: CommandContext) => Promise<void>,
  context: CommandContext,
): Promise<void> {
  const { in: input, out, notes, signal } = context;
  const historyPath = join(await cacheFolder(context), "history");
  const names = namesOf(source, signal);
  const terminal = createInterface({
    input,
    output: out,
    terminal: true,
    history: readHistory(historyPath),
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    completer: async (line: string) => completionsOf(line, [...KEYWORDS, ...(await names)]),
  });
  let statement = "";
  let running: AbortController | undefined;
  const show = () => {
    terminal.setPrompt(statement === "" ? PROMPT : CONTINUED);
    terminal.prompt();
  };
  terminal.on("history", (lines: readonly string[]) => keepHistory(historyPath, lines));
  terminal.on("SIGINT", () => {
    if (running !== undefined) {
      running.abort();
      return;
    }
    statement = "";
    out.write("\n");
    terminal.write(null, { ctrl: true, name: "u" }); // Deletes the line.
    show();
  });
  const stop = onAbort(signal, () => terminal.close());
  notes.write("Statements end with a semicolon; .help explains the prompt.\n");
  show();
  try {
    for await (const line of terminal) {
      if (statement === "" && [".exit", ".quit"].includes(line.trim())) {
        break;
      }
      if (statement === "" && line.trim() === ".help") {
        out.write(HELP);
      } else {
        statement = `${statement}${line}\n`;
      }
      if (statement.trim() === "") {
        statement = "";
      } else if (statement.trimEnd().endsWith(";")) {
        running = linkedController(signal);
        const own = running.signal;
        await run(statement, source, withSignal(context, own)).catch((reason: unknown) => report(reason, own, context));
        running.abort(); // Removes its listener.
        running = undefined;
        statement = "";
      }
      show();
    }
  } finally {
    stop();
    terminal.close();
  }
  signal.throwIfAborted();
}

function withSignal(context: CommandContext, signal: AbortSignal): CommandContext {
  return { ...context, notes: context.notes, signal };
}

/** Prints the error of a statement. What ends the prompt is thrown. */
function report(reason: unknown, own: AbortSignal, context: CommandContext): void {
  if (context.signal.aborted || reason instanceof OutputClosed) {
    throw reason;
  }
  if (own.aborted) {
    context.err.write("Interrupted.\n");
  } else if (!(reason instanceof Reported)) {
    context.err.write(errorText(reason, { to: context, namesExplanation: false }));
  }
}

/** Returns the names of what is queried; none if it cannot be opened, which the first statement reports. */
async function namesOf(source: OpenedSource, signal: AbortSignal): Promise<readonly string[]> {
  try {
    await using database = await source.open("SHOW TABLES", signal);
    return await database.names();
  } catch {
    return [];
  }
}

/** Completes the last word of a line; case is ignored. */
function completionsOf(line: string, words: readonly string[]): [completions: string[], word: string] {
  const [word = ""] = /\w*$/u.exec(line) ?? [];
  const found = words.filter((each) => each.toLowerCase().startsWith(word.toLowerCase()));
  return [word === "" ? [] : [...new Set(found)], word];
}

function readHistory(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean).slice(0, HISTORY_LINES);
  } catch {
    return []; // There is none yet.
  }
}

/** Writes the lines, the newest first, to a file that only the user can read. */
function keepHistory(path: string, lines: readonly string[]): void {
  try {
    replaceFileSync(path, [Buffer.from(`${lines.join("\n")}\n`)]);
  } catch {
    // The disk may be full. The prompt works without a history.
  }
}
