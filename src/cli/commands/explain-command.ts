import type { Command } from "commander";
import { ERROR_CODES, type ErrorCode } from "../../errors/error-codes.js";
import { closestName } from "../../errors/error-text.js";
import { RequestError } from "../../errors/index.js";
import { addOptions, flag, type OptionValues } from "../declarations.js";
import { type CommandContext, json, writeOut } from "../output.js";

const explainOptions = { json: flag("print the explanation as a JSON object") };

/**
 * Defines the command `explain`, which explains the code of an error.
 *
 * @param command the command `explain`, which gets its action
 * @param context the streams of the command
 */
export function addExplain(command: Command, context: CommandContext): void {
  addOptions(command, explainOptions).action(
    async (given: string | undefined, options: OptionValues<typeof explainOptions>) => {
      if (given === undefined) {
        await writeOut(context, options.json === true ? json(ERROR_CODES) : listText());
        return;
      }
      const code = parseCode(given);
      await writeOut(context, options.json === true ? json({ code, ...ERROR_CODES[code] }) : explanation(code));
    },
  );
}

function explanation(code: ErrorCode): string {
  const { class: className, title, cause, advice, example } = ERROR_CODES[code];
  return `${code} (${className})
${title}.

Cause:    ${cause}
Solution: ${advice}
Example:  ${example}
`;
}

const CODES: readonly string[] = Object.keys(ERROR_CODES);

const isCode = (text: string): text is ErrorCode => Object.hasOwn(ERROR_CODES, text);

/** Returns the code that a text names, in any case and with or without its prefix. */
function parseCode(given: string): ErrorCode {
  const name = given.toUpperCase().replaceAll("-", "_");
  const code = name.startsWith("TW_") ? name : `TW_${name}`;
  if (isCode(code)) {
    return code;
  }
  const words = code.split("_").slice(1);
  const similar = CODES.filter((each) => words.some((word) => word !== "" && each.split("_").includes(word)));
  const near = similar.length > 0 ? similar.join(", ") : closestName(code, CODES);
  throw new RequestError(`there is no error code ${JSON.stringify(given)}`, {
    errorCode: "TW_USAGE",
    advice: `${near === undefined ? "" : `Did you mean ${near}? `}\`tradewire explain\` lists all codes.`,
  });
}

function listText(): string {
  const width = Math.max(...CODES.map((code) => code.length));
  return Object.entries(ERROR_CODES)
    .map(([code, { title }]) => `${code.padEnd(width)}  ${title}\n`)
    .join("");
}
