import { Code } from "../../base/errors/code.js";
import { closestName, MAX_MESSAGE, truncate } from "../../base/errors/error-text.js";
import { RequestError, SinkError, TradewireError } from "../../base/errors/index.js";
import { isError } from "../../base/errors/node-errors.js";
import { duckdbError } from "../sinks/duckdb/duckdb-package.js";

/** The kinds of DuckDB's errors that a statement causes. */
const OF_STATEMENT =
  /^(?:Parser|Syntax|Binder|Catalog|Conversion|Invalid Input|Out of Range|Mismatch Type|Invalid Type|Not implemented|Divide by Zero|Parameter Not Resolved|Parameter Not Allowed) Error/u;

/** Errors of a damaged file, which a statement has not caused. */
const OF_FILE = /^Invalid Input Error: (?:Malformed JSON|JSON transform error) in file/u;

/** Converts an error of DuckDB that a statement has caused, with the place in the statement. */
export function statementError(reason: unknown, name: string): TradewireError {
  if (reason instanceof TradewireError) {
    return reason;
  }
  const said = (isError(reason) ? reason.message : String(reason)).replace(/^Failed to extract statements: /u, "");
  if (/^(?:Permission|Missing Extension) Error/u.test(said) || /disabled (?:by|through) configuration/u.test(said)) {
    return new RequestError(`${name}: ${lineOf(said)}`, {
      advice: "A query reads only what its options name: no other file, no network, no extension.",
      cause: reason,
    });
  }
  if (/^Out of Memory/u.test(said)) {
    return new SinkError(`${name}: ${lineOf(said)}`, {
      code: Code.ResourceExhausted,
      advice: "Allow more with --memory, or read fewer rows and columns.",
      cause: reason,
    });
  }
  if (!OF_STATEMENT.test(said) || OF_FILE.test(said)) {
    return duckdbError(reason, name);
  }
  const hint = hintOf(said);
  const missing = /^Catalog Error: Table (?:with name|Function)/u.test(said);
  const advice = [hint, missing ? "`SHOW TABLES` lists what there is." : undefined].filter(Boolean).join(" ");
  return new RequestError(`${lineOf(said)}${placeOf(said)}`, { advice, cause: reason });
}

/** Returns DuckDB's suggestion if it is near what the statement names: it suggests the nearest name, however far it is. */
function hintOf(said: string): string | undefined {
  const [, hint] = /\nDid you mean ([^\n]*)/u.exec(said) ?? [];
  const [, name] = / with name "?([\w.]+)"? does not exist/u.exec(said) ?? [];
  if (hint === undefined || name === undefined) {
    return hint && `Did you mean ${hint}`;
  }
  const near = closestName(
    name,
    [...hint.matchAll(/"([^"]+)"/gu)].map(([, each = ""]) => each),
  );
  return near && `Did you mean ${near}?`;
}

/** Returns the message without the hint and the place. */
function lineOf(said: string): string {
  const [text = ""] = said.split(/\n(?:Did you mean |LINE \d+: )/u);
  return truncate(text.trim().replaceAll(/\s+/gu, " "), MAX_MESSAGE);
}

/** The maximum length of a part of the statement in an error. */
const MAX_NEAR = 40;

/** Returns where in the statement an error is. DuckDB shows the line, and a caret in the line below it. */
function placeOf(said: string): string {
  const [, number, text = "", caret = ""] = /\nLINE (\d+): (.*)\n( *)\^/u.exec(said) ?? [];
  if (number === undefined) {
    return "";
  }
  const near = text.slice(Math.max(0, caret.length - `LINE ${number}: `.length)).slice(0, MAX_NEAR);
  return near === "" ? ` (line ${number})` : ` (line ${number}, at ${JSON.stringify(near)})`;
}
