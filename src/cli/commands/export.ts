import { type Command, Option } from "commander";
import { RequestError } from "../../errors.js";
import type { ExportRequest } from "../../history/request.js";
import { isTableName, tableNames } from "../../history/table.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { type CommandContext, json, printable, size, table } from "../output.js";
import { createProgress } from "../progress.js";

interface ExportCommandOptions extends ClientOptions {
  readonly table: string;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  readonly out: string;
  readonly extensions: "required" | "optional";
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Add the command `export` (specification, 4.1). */
export function addExport(program: Command, context: CommandContext): void {
  const command = program
    .command("export")
    .description("Export one table of network history between two blocks as a ZIP archive of CSV files.")
    .requiredOption("--table <name>", `the table: ${tableNames.join(", ")}`)
    .addOption(
      new Option("--from-block <height>", "first block: the first of a segment")
        .argParser(height)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("--to-block <height>", "last block: the last of a segment").argParser(height).makeOptionMandatory(),
    )
    .option("--out <path>", "folder to save to, or path of the file", ".")
    .addOption(
      new Option("--extensions <rule>", "whether the first chunk must carry extensions")
        .choices(["required", "optional"])
        .default("required"),
    )
    .option("--force", "replace a file that exists")
    .option("--json", "print the result as a JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action((options: ExportCommandOptions) => runExport(options, context));
}

async function runExport(options: ExportCommandOptions, context: CommandContext): Promise<void> {
  const { out, err, signal } = context;
  await using client = commandClient(options, context);
  const progress = createProgress(err);
  const request = { table: tableOption(options.table), fromBlock: options.fromBlock, toBlock: options.toBlock };
  const exported = client.exportNetworkHistory(request, {
    signal,
    extensions: options.extensions,
    onProgress: progress.update,
  });
  const start = performance.now();
  const saved = await exported.saveTo(options.out, { force: options.force === true }).finally(progress.end);
  if (options.json === true) {
    out.write(json(saved));
    return;
  }
  const seconds = (performance.now() - start) / 1000;
  out.write(`${saved.path}\n`);
  err.write(`${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}\n`);
  err.write(
    table(
      ["file", "bytes"],
      saved.entries.map((entry) => [printable(entry.name), String(entry.size)]),
    ),
  );
}

/** A block height of the command line. */
function height(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) {
    throw new RequestError(`${JSON.stringify(text)} is no block`, { advice: "Give a whole number from 1." });
  }
  return BigInt(text);
}

function tableOption(text: string): ExportRequest["table"] {
  const name = text.replace(/^TABLE_/, "").toLowerCase();
  if (!isTableName(name)) {
    throw new RequestError(`${JSON.stringify(text)} is not a table that can be exported`, {
      advice: `Choose one of: ${tableNames.join(", ")}.`,
    });
  }
  return name;
}
