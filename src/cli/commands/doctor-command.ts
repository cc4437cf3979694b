import { statfs } from "node:fs/promises";
import { TradewireError } from "../../base/errors/index.js";
import type { LoadedConfig } from "../../index.js";
import { ownFilePath } from "../../wire/config/config-files.js";
import { type ClientOptions, clientOptions, loadClientConfig } from "../client-options.js";
import { defineCommand } from "../declarations.js";
import { checkNodes, type Finding, failedCheck } from "../doctor/node-checks.js";
import { size, wrapped } from "../formatting.js";
import { type CommandContext, printable, Reported, type Streams, widthOf } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { printTable, wrapLastColumn } from "../table.js";

const doctorOptions = { ...outputOptions, ...clientOptions };

/**
 * Defines the command `doctor`, which checks the machine, the configuration and the nodes, and fails if a check fails.
 */
export const addDoctor = defineCommand(doctorOptions, async (options, context) => {
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
  await printReport(report, outputFormat(options, context), context);
  if (findings.some(({ state }) => state === "failure")) {
    throw new Reported();
  }
});

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

/** The oldest version of Node that the package supports. */
const OLDEST_NODE = [20, 19] as const;

export function checkNodeVersion(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const isSupported = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  return {
    check: "Node.js",
    state: isSupported ? "ok" : "failure",
    finding: version,
    ...(!isSupported && { advice: `Install Node.js ${OLDEST_NODE.join(".")} or later.` }),
  };
}

/** The free space of the working directory below which exports and syncs soon fail, in bytes. */
const LOW_BYTES = 1024 ** 3;
const TOO_FEW_BYTES = 64 * 1024 ** 2;

/** Checks the free disk space in the working directory, where exports are saved. */
export async function checkDiskSpace(): Promise<Finding> {
  const { bavail, bsize } = await statfs(process.cwd());
  const free = bavail * bsize;
  return {
    check: "disk space",
    state: free < TOO_FEW_BYTES ? "failure" : free < LOW_BYTES ? "warning" : "ok",
    finding: `${size(free)} free in ${process.cwd()}`,
    ...(free < LOW_BYTES && { advice: "Free some space, or save archives and tables elsewhere." }),
  };
}

/** The optional packages, and what needs them. */
const OPTIONAL_PACKAGES = {
  "@duckdb/node-api": "syncs into DuckDB and Parquet",
  pg: "syncs into PostgreSQL",
  "pg-copy-streams": "syncs into PostgreSQL",
  "pg-boss": "syncs on many machines",
  "prom-client": "the status page of a sync",
} as const;

/** Lists which optional packages are installed. Each is needed only by some commands. */
export function checkPackages(): Finding {
  const states = Object.entries(OPTIONAL_PACKAGES).map(([name, purpose]) =>
    isInstalled(name) ? name : `${name} is not installed (for ${purpose})`,
  );
  return { check: "optional packages", state: "ok", finding: states.join(", ") };
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Checks the configuration files: which were read, and whether others can read their secrets. Files that others can change
 * are never read.
 */
export function checkFiles({ files }: LoadedConfig, { environment }: Pick<Streams, "environment">): Finding[] {
  if (files.length === 0) {
    const own = ownFilePath(environment);
    const finding = own === undefined ? "no file" : `no file; your user configuration file would be ${own}`;
    return [{ check: "configuration", state: "ok", finding }];
  }
  return files.map(({ path, kind, network, warning }) => ({
    check: "configuration",
    state: warning === undefined ? "ok" : "warning",
    finding: `${path} (${kind}${network === undefined ? "" : `, network ${network}`})${warning === undefined ? "" : `: ${warning}`}`,
    ...(warning !== undefined && { advice: `Make it private: chmod 600 ${path}` }),
  }));
}
