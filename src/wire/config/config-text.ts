import { type DocumentNode, parse, type ValueNode } from "@humanwhocodes/momoa";
import { describeType, quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { isError } from "../../base/errors/node-errors.js";
import { duplicateName } from "../json/strict-json.js";

/** The content of a configuration file. */
export interface ConfigText {
  readonly config: Readonly<Record<string, unknown>>;
  /** Returns the line of the value at a path, counted from 1; undefined if the value is not there. */
  lineOf(path: readonly string[]): number | undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses the text of a configuration file.
 *
 * @throws {@link RequestError} if the text is not JSON, or not an object
 */
export function parseConfigText(text: string, source: string): ConfigText {
  const config = parseJson(text, source);
  if (!isObject(config)) {
    throw new RequestError(`${source} must be a JSON object (got ${describeType(config)})`, {
      errorCode: "TW_CONFIGURATION",
      advice:
        'Write an object such as {"grpc":{"url":"https://node.example"}}. configuration.md in the documentation lists all keys.',
    });
  }
  const name = duplicateName(text);
  if (name !== undefined) {
    throw new RequestError(`${source}: the name ${quoted(name)} occurs twice in one object`, {
      errorCode: "TW_CONFIGURATION",
      advice: "Remove one of the two: which of them counts is not defined.",
    });
  }
  let tree: DocumentNode | undefined;
  return {
    config,
    lineOf(path) {
      tree ??= parse(text, { mode: "json" });
      return lineIn(tree.body, path);
    },
  };
}

function lineIn(node: ValueNode, [key, ...rest]: readonly string[]): number | undefined {
  const member =
    node.type === "Object" ? node.members.find(({ name }) => name.type === "String" && name.value === key) : undefined;
  return rest.length === 0 || member === undefined ? member?.loc.start.line : lineIn(member.value, rest);
}

function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    const endsEarly = isError(reason) && reason.message.includes("end of JSON input");
    // The caught error is not the cause, because it quotes the text, which may contain a token.
    throw new RequestError(`${source}: invalid JSON: ${endsEarly ? "unexpected end of file" : placeOfMistake(text)}`, {
      errorCode: "TW_CONFIGURATION",
      advice: "Correct the text there or just before. JSON allows no comments and no trailing commas.",
    });
  }
}

const NO_PLACE = "unbalanced braces or quotes, or a misplaced comma";

/** Returns where a text stops being valid JSON, if the parser reports it. */
function placeOfMistake(text: string): string {
  try {
    parse(text, { mode: "json" });
    // The parser accepts line breaks in strings, which JSON must escape.
    const line = text.split("\n").findIndex((each) => each.replace(/\\./g, "").split('"').length % 2 === 0);
    return line === -1 ? NO_PLACE : `unterminated string on line ${line + 1}`;
  } catch (reason) {
    const { line, column } = Object(reason);
    return typeof line === "number" && typeof column === "number"
      ? `syntax error at line ${line}, column ${column}`
      : NO_PLACE;
  }
}
