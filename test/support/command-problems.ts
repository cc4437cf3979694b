import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { commandProblems } from "tradewire";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";

/** Check a command. */
export function problemsOf(json: JsonValue): string[] {
  const { command } = fromJson(InputDataSchema, json);
  if (command.case === undefined) {
    throw new Error("no command");
  }
  return commandProblems(command).map(({ path, message }) => `${path} ${message}`);
}
