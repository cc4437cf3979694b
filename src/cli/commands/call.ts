import { type Command, Option } from "commander";
import { LONGEST_TIMER_MS } from "../../config/values.js";
import { RequestError } from "../../errors/index.js";
import type { CallOptions } from "../api/call-options.js";
import { clientOptions, milliseconds } from "../client-options.js";
import type { CommandContext } from "../output.js";
import { wholeNumber } from "../whole-number.js";
import { protoOption } from "./methods.js";

/**
 * Add the command `call`, which calls any method.
 *
 * @param command the command `call`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addCall(command: Command, context: CommandContext): void {
  command
    .argument("<method>", "the full name, or its end, such as ListStopOrders or CoreService/GetVegaTime")
    .argument("[request]", "the request in Protobuf's JSON; @FILE for a file, - for standard input; empty by default")
    .addOption(repeated("-d, --data <request>", "a request, of a method that streams them"))
    .addOption(repeated("--set <path=value>", "set a field, such as pagination.first=5 or filter.partyIds=a,b"))
    .addOption(repeated("--header <name: value>", "send a header; no secret, which others can see among the arguments"))
    .addOption(
      new Option("--timeout <duration>", "longest time of the whole call, also of a stream").argParser(callTime),
    )
    .option("--all", "print the records of all pages, one a line")
    .addOption(
      new Option(
        "--limit <count>",
        "print so many records, of as many pages as needed, or so many answers of a stream",
      ).argParser(count),
    )
    .option(
      "--out <file>",
      "write the bytes that the method answers with (google.api.HttpBody) to a file; - for standard output",
    )
    .option("--force", "replace a file that exists")
    .addOption(protoOption())
    .option("--json", "print the answer on one line, and an error as JSON too");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (method: string, request: string | undefined, options: CallOptions) => {
    const { runCall } = await import("../api/call.js");
    await runCall(method, request, options, context);
  });
}

/** Parse the time of a call, which a timer has to wait. */
function callTime(text: string): number {
  const timeMs = milliseconds("--timeout", text);
  if (timeMs < 1 || timeMs > LONGEST_TIMER_MS) {
    throw new RequestError(`--timeout is ${text}, which is no time to wait`, {
      advice: "Give 1ms to 596h, or leave it out for no limit of a stream.",
    });
  }
  return timeMs;
}

/** Parse a number of records of the command line. */
function count(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) {
    throw new RequestError("--limit is 0", { advice: "Give a whole number from 1." });
  }
  return number;
}

function repeated(flags: string, description: string): Option {
  return new Option(flags, `${description}; may be repeated`)
    .default([], "none")
    .argParser((text, before: readonly string[] = []) => [...before, text]);
}
