import { type Command, Option } from "commander";
import type { CallOptions } from "../api/call-options.js";
import { clientOptions, milliseconds } from "../client-options.js";
import type { CommandContext } from "../output.js";
import { countFromOne } from "../whole-number.js";
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
      new Option("--timeout <duration>", "longest time of the whole call, also of a stream").argParser((text) =>
        milliseconds("--timeout", text),
      ),
    )
    .option("--all", "print the records of all pages, one a line")
    .addOption(
      new Option(
        "--limit <count>",
        "print so many records, of as many pages as needed, or so many answers of a stream",
      ).argParser(countFromOne),
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

function repeated(flags: string, description: string): Option {
  return new Option(flags, `${description}; may be repeated`)
    .default([], "none")
    .argParser((text, before: readonly string[] = []) => [...before, text]);
}
