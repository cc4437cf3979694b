import type { Command } from "commander";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { type CommandContext, json, printable, table } from "../output.js";

/** Add the command `segments`: the boundaries between which history can be exported (specification, 4.1). */
export function addSegments(program: Command, context: CommandContext): void {
  const command = program
    .command("segments")
    .description("List the segments of network history that the node holds.")
    .option("--json", "print one JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (options: ClientOptions & { readonly json?: boolean }) => {
    await using client = commandClient(options, context);
    const segments = await client.listSegments({ signal: context.signal });
    if (options.json === true) {
      context.out.write(
        json({
          segments: segments.map(({ $typeName: _, $unknown: __, ...segment }) => segment),
        }),
      );
      return;
    }
    context.out.write(
      table(
        ["from", "to", "schema", "chain", "segment"],
        segments.map(({ fromHeight, toHeight, databaseVersion, chainId, historySegmentId }) => [
          String(fromHeight),
          String(toHeight),
          String(databaseVersion),
          printable(chainId),
          printable(historySegmentId),
        ]),
      ),
    );
  });
}
