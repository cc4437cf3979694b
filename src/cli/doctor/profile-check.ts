import { TradewireError } from "../../base/errors/index.js";
import type { Profile } from "../../base/profile.js";
import { parseCsvName } from "../../data/archive/index.js";
import type { Client, LoadedConfig } from "../../index.js";
import { originOf } from "../config-origins.js";
import type { Finding } from "./finding.js";

/**
 * Compares the profile of the configuration with a node: it exports the newest segment of a small table, and looks at the
 * name of the first file, which only deployed nodes give a schema version.
 */
export async function checkProfile(client: Client, loaded: LoadedConfig, signal: AbortSignal): Promise<Finding> {
  const check = "profile";
  const { profile } = loaded.config;
  const origin = originOf(loaded, "profile");
  const setting = `${profile} (${origin === "default" ? "the default" : `set by ${origin}`})`;
  let found: Profile | undefined;
  try {
    found = await profileOf(client, signal);
  } catch (reason) {
    if (!(reason instanceof TradewireError) || signal.aborted) {
      throw reason;
    }
    const finding = `${setting}; the node's behavior is unknown, because a test export failed: ${reason.summary}`;
    return { check, state: "warning", finding, advice: reason.advice };
  }
  if (found === undefined) {
    return { check, state: "ok", finding: `${setting}; the node has no history to compare it with` };
  }
  if (found === profile) {
    return { check, state: "ok", finding: `${setting}, as the node behaves` };
  }
  return {
    check,
    state: "failure",
    finding: `${setting}, but the node behaves as ${found}`,
    advice: `Use --profile ${found}, or set \`profile\` to "${found}" in the configuration. Otherwise exports or transactions can fail: docs/differences.md lists the differences.`,
  };
}

/** Returns the profile that a node follows; undefined if it has no history, or names files in another way. */
async function profileOf(client: Client, signal: AbortSignal): Promise<Profile | undefined> {
  const newest = (await client.listSegments({ signal })).at(-1);
  if (newest === undefined) {
    return undefined;
  }
  const request = { table: "markets", fromBlock: newest.fromHeight, toBlock: newest.toHeight } as const;
  for await (const { name } of client.exportNetworkHistory(request, { extensions: "optional", signal }).files()) {
    const parts = parseCsvName(name);
    return parts && (parts.schemaVersion === undefined ? "specification" : "deployed");
  }
  return undefined;
}
