import { ConnectionError } from "../base/errors/index.js";
import { lazily, startLoading } from "../base/input/lazy.js";
import type { LoadedConfig } from "../index.js";
import { printable, type Streams } from "./output.js";

const loadOrigins = lazily(() => import("./config-origins.js"));

/** The parts of a command's configuration that errors and notes need. */
export interface UsedConfig {
  /** Records a configuration, and warns once about each file whose secrets other users can read. */
  readonly onConfig: (loaded: LoadedConfig) => void;
  /** Returns where the URLs of nodes that cannot be reached come from, and how to name others; empty for other errors. */
  readonly adviceOn: (reason: unknown) => Promise<string>;
}

/** Creates the observer of the configuration that a command uses. */
export function watchConfig(streams: Pick<Streams, "notes" | "environment">): UsedConfig {
  const warnings = new Set<string>();
  let used: LoadedConfig | undefined;
  return {
    onConfig(loaded) {
      used = loaded;
      startLoading(loadOrigins);
      for (const { path, warning } of loaded.files) {
        if (warning !== undefined && !warnings.has(path)) {
          warnings.add(path);
          const text = printable(`${path}: ${warning}`);
          streams.notes.write(`tradewire: ${text}. Make it private: chmod 600\n`);
        }
      }
    },
    async adviceOn(reason) {
      if (used === undefined || !(reason instanceof ConnectionError) || reason.connected || reason.isClosed) {
        return "";
      }
      const loaded = await loadOrigins().catch(() => undefined); // The error itself matters more.
      return loaded?.originsOf(used, streams.environment) ?? "";
    },
  };
}
