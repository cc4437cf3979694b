import type { LoadedConfig } from "../../index.js";
import { type ConfigKey, configKeys, valueAt } from "../../wire/config/config-schema.js";
import { maskProxy } from "../../wire/config/proxy.js";
import { clientOptions, loadClientConfig } from "../client-options.js";
import { originOf } from "../config-origins.js";
import { defineCommand } from "../declarations.js";
import { printable, widthOf } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { printTable, wrapLastColumn } from "../table.js";

const configOptions = { ...outputOptions, ...clientOptions };

/** Defines the command `config`, which prints the effective configuration and the source of each value. */
export const addConfig = defineCommand(configOptions, async (options, context) => {
  const loaded = loadClientConfig(options, context);
  const entries = configEntries(loaded);
  const rows = entries.map(({ key, value, found }) => [
    key,
    printable(text(value)),
    printable(`${originOf(loaded, key)}${found === true ? " (found)" : ""}`),
  ]);
  const header = ["key", "value", "source"];
  const report = {
    table: () => printTable(header, wrapLastColumn(header, rows, widthOf(context)), context),
    object: () => Object.fromEntries(entries.map(({ key, ...entry }) => [key, entry])),
    records: () => entries,
  };
  await printReport(report, outputFormat(options, context), context);
});

interface ConfigEntry {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  /** The line in the source, if it is a file. */
  readonly line?: number;
  /** Whether the source is a file that was found and not named. */
  readonly found?: true;
}

/** Lists the keys that have a value. Headers, keys and the proxy's password are masked, because they may be secret. */
function configEntries({ config, sources, found, lineOf }: LoadedConfig): ConfigEntry[] {
  return configKeys.flatMap(({ name, path, kind }) => {
    const value = valueAt(config, path);
    const source = sources.get(name);
    const shown = shownValue(kind, value, config);
    const line = lineOf(name);
    return source === undefined
      ? []
      : [
          {
            key: name,
            value: shown,
            source,
            ...(line !== undefined && { line }),
            ...(found.has(name) && { found: true }),
          },
        ];
  });
}

function shownValue(kind: ConfigKey["kind"], value: unknown, { proxy = false }: LoadedConfig["config"]): unknown {
  if (kind === "headers") {
    return masked(value);
  }
  if (kind === "pem") {
    return "***";
  }
  return kind === "proxy" ? maskProxy(proxy) : value;
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
