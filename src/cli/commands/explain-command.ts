import { ERROR_CODES, type ErrorCode } from "../../base/errors/error-codes.js";
import { closestName } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { defineCommand } from "../declarations.js";
import { wrapped } from "../formatting.js";
import { type CommandContext, widthOf, writeOut } from "../output.js";
import { type OutputOptions, outputFormat, outputOptions, printReport, type Report } from "../output-format.js";

/** Defines the command `explain`, which explains the code of an error. */
export const addExplain = defineCommand(
  outputOptions,
  async (given: string | undefined, options: OutputOptions, context: CommandContext) => {
    const report = given === undefined ? listReport(context) : codeReport(parseCode(given), context);
    await printReport(report, outputFormat(options, context), context);
  },
);

function listReport(context: CommandContext): Report {
  return {
    table: () => writeOut(context, listText(widthOf(context))),
    object: () => ERROR_CODES,
    records: () => Object.entries(ERROR_CODES).map(([code, about]) => ({ code, ...about })),
  };
}

function codeReport(code: ErrorCode, context: CommandContext): Report {
  return {
    table: () => writeOut(context, explanation(code, widthOf(context))),
    object: () => ({ code, ...ERROR_CODES[code] }),
  };
}

function explanation(code: ErrorCode, width: number): string {
  const { class: className, title, cause, advice, example } = ERROR_CODES[code];
  const part = (name: string, text: string) => `${name.padEnd(PART_INDENT)}${indented(text, PART_INDENT, width)}\n`;
  const parts = [part("Cause:", cause), part("Solution:", advice), part("Example:", example)];
  return `${code} (${className})\n${title}.\n\n${parts.join("")}`;
}

/** The width of the names of the parts of an explanation. */
const PART_INDENT = 10;

/** What all codes begin with. */
const PREFIX = "TW_";

const CODES: readonly string[] = Object.keys(ERROR_CODES);

const isCode = (text: string): text is ErrorCode => Object.hasOwn(ERROR_CODES, text);

/** Returns the code that a text names, in any case and with or without its prefix. */
function parseCode(given: string): ErrorCode {
  const name = given.toUpperCase().replaceAll("-", "_");
  const code = name.startsWith(PREFIX) ? name : `${PREFIX}${name}`;
  if (isCode(code)) {
    return code;
  }
  const words = code.split("_").slice(1);
  const similar = CODES.filter((each) => words.some((word) => word !== "" && each.split("_").includes(word)));
  const near = similar.length > 0 ? similar.join(", ") : closestCode(code);
  throw new RequestError(`unknown error code ${JSON.stringify(given)}`, {
    errorCode: "TW_USAGE",
    advice: `${near === undefined ? "" : `Did you mean ${near}? `}\`tradewire explain\` lists all codes.`,
  });
}

/** Returns the most similar code. The prefix, which all codes share, does not count. */
function closestCode(code: string): string | undefined {
  const name = closestName(
    code.slice(PREFIX.length),
    CODES.map((each) => each.slice(PREFIX.length)),
  );
  return name === undefined ? undefined : `${PREFIX}${name}`;
}

function listText(width: number): string {
  const indent = Math.max(...CODES.map((code) => code.length)) + 2;
  return Object.entries(ERROR_CODES)
    .map(([code, { title }]) => `${code.padEnd(indent)}${indented(title, indent, width)}\n`)
    .join("");
}

/** Breaks a text into lines; those after the first one are indented. */
function indented(text: string, indent: number, width: number): string {
  return wrapped(text, width - indent).join(`\n${" ".repeat(indent)}`);
}
