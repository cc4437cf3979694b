import type { Command } from "commander";
import { valueAt } from "../../config/keys.js";
import type { LoadedConfig } from "../../config/load.js";
import { configKeys } from "../../config/schema.js";
import { type ClientOptions, clientOptions, loadClientConfig } from "../client-options.js";
import { type CommandContext, json, printable } from "../output.js";
import { printTable } from "../terminal.js";

/**
 * Add the command `config`, which prints the effective configuration and the source of each value.
 *
 * @param command the command `config`, which is given its arguments, options and action
 * @param context the streams of the command
 */
export function addConfig(command: Command, context: CommandContext): void {
  const { out } = context;
  command.option("--json", "print one JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action((options: ClientOptions & { readonly json?: boolean }) => {
    const entries = effective(loadClientConfig(options, context));
    if (options.json === true) {
      out.write(json(Object.fromEntries(entries.map(({ key, ...entry }) => [key, entry]))));
      return;
    }
    const rows = entries.map(({ key, value, source, found }) => [
      key,
      printable(text(value)),
      printable(found === true ? `${source} (found)` : source),
    ]);
    printTable(["key", "value", "source"], rows, context);
  });
}

interface Effective {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  /** Whether the source is a file that was found, not named. */
  readonly found?: true;
}

/** The keys that have a value. The values of headers are masked, because they may be secret. */
function effective({ config, sources, found }: LoadedConfig): Effective[] {
  return configKeys.flatMap(({ name, path, kind }) => {
    const value = valueAt(config, path);
    const source = sources.get(name);
    const shown = kind === "headers" ? masked(value) : value;
    return source === undefined ? [] : [{ key: name, value: shown, source, ...(found.has(name) && { found: true }) }];
  });
}

function masked(headers: unknown): unknown {
  return Object.fromEntries(Object.keys(Object(headers)).map((name) => [name, "***"]));
}

function text(value: unknown): string {
  if (typeof value !== "object" || value === null) {
    return String(value);
  }
  return Array.isArray(value)
    ? value.join(",")
    : Object.entries(value)
        .map(([name, inner]) => `${name}: ${inner}`)
        .join(", ");
}
