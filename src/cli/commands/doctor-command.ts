import type { Command } from "commander";
import { TradewireError } from "../../base/errors/index.js";
import type { LoadedConfig } from "../../index.js";
import { type ClientOptions, clientOptions, loadClientConfig } from "../client-options.js";
import { addOptions, type OptionValues } from "../declarations.js";
import { type Finding, failedCheck } from "../doctor/finding.js";
import { checkDiskSpace, checkFiles, checkNodeVersion, checkPackages } from "../doctor/machine-checks.js";
import { checkNodes } from "../doctor/node-checks.js";
import { type CommandContext, printable, Reported } from "../output.js";
import { printReport, recordsFormat, recordsOutput } from "../output-format.js";
import { printTable, widthOf, wrapLastColumn, wrapped } from "../table.js";

const doctorOptions = { ...recordsOutput, ...clientOptions };

/**
 * Defines the command `doctor`, which checks the machine, the configuration and the nodes, and fails if a check fails.
 */
export function addDoctor(command: Command, context: CommandContext): void {
  addOptions(command, doctorOptions).action(async (options: OptionValues<typeof doctorOptions>) => {
    context.output.role = "answer";
    const findings = [
      checkNodeVersion(),
      await checkDiskSpace(),
      checkPackages(),
      ...(await checkConfiguration(options, context)),
    ];
    context.signal.throwIfAborted(); // A check that was interrupted has failed, too.
    const report = {
      table: () => printFindings(findings, context),
      object: () => ({ checks: findings }),
      records: () => findings,
    };
    await printReport(report, recordsFormat(options, context), context);
    if (findings.some(({ state }) => state === "failure")) {
      throw new Reported();
    }
  });
}

/** Checks the configuration and, if it is valid, the nodes. */
async function checkConfiguration(options: ClientOptions, context: CommandContext): Promise<Finding[]> {
  let loaded: LoadedConfig;
  try {
    // The warnings of files are findings.
    loaded = loadClientConfig(options, { environment: context.environment, onConfig: () => {} });
  } catch (reason) {
    if (!(reason instanceof TradewireError)) {
      throw reason;
    }
    return [failedCheck("configuration", reason)];
  }
  return [...checkFiles(loaded, context), ...(await checkNodes(loaded, context.signal))];
}

function printFindings(findings: readonly Finding[], context: CommandContext): void {
  const header = ["state", "check", "finding"];
  const rows = findings.map(({ state, check, finding }) => [state, check, finding].map(printable));
  printTable(header, wrapLastColumn(header, rows, widthOf(context)), context);
  for (const { check, state, advice } of findings) {
    if (state !== "ok" && advice !== undefined) {
      context.out.write(`\n${wrapped(printable(`${check}: ${advice}`), widthOf(context)).join("\n")}`);
    }
  }
  if (findings.some(({ state, advice }) => state !== "ok" && advice !== undefined)) {
    context.out.write("\n");
  }
}
