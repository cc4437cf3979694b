import { isChainId } from "../errors/chain-id.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { type Profile, profileRules, profiles } from "../schema/profile.js";
import { NEWEST_SCHEMA_VERSION } from "../schema/table-schema.js";
import type { ChainIdPrefix } from "../transaction/transaction.js";
import { devKeys } from "./dev-keys.js";
import type { Genesis } from "./history/history.js";
import type { TransactionFailure } from "./local-network.js";
import type { RateLimit } from "./rate-limit.js";

/** Options of a local node. */
export interface DevnodeOptions {
  /** The address to listen on. The default, `127.0.0.1`, cannot be reached from other machines. */
  readonly host?: string | undefined;
  /** TCP port for gRPC; 0, the default, takes a free one. */
  readonly grpcPort?: number | undefined;
  /** TCP port for the HTTP gateway; 0, the default, takes a free one. */
  readonly restPort?: number | undefined;
  /** Identifier of the chain, 1 to 50 characters of `A-Z a-z 0-9 . _ -`; `tradewire-devnet` by default. */
  readonly chainId?: string | undefined;
  /**
   * Whether the node behaves as the specification says, the default, or as deployed nodes do: what exports carry and how
   * their files are named, what refusals say, and when spam is refused.
   */
  readonly profile?: Profile | undefined;
  /** Number of history segments to begin with; 5 by default. */
  readonly segments?: number | undefined;
  /** Number of blocks in each segment; 1000 by default, 300 with the profile `deployed`. */
  readonly blocksPerSegment?: number | undefined;
  /**
   * The version of the database schema of each segment, in order; the last one holds for all that follow. By default
   * 115 for the first three segments and then 116.
   */
  readonly schemaVersions?: readonly number[] | undefined;
  /** Rows of one's own, by table. They stand in the place of the table's made-up rows. */
  readonly genesis?: Genesis | undefined;
  /** How often made-up parties trade in each block; 0 by default. What they do is the same on every start. */
  readonly activity?: number | undefined;
  /**
   * Milliseconds from one block to the next; 1000 by default. With 0, only {@link Controls.makeBlock} and nothing else
   * makes blocks.
   */
  readonly blockMs?: number | undefined;
  /**
   * A folder that keeps the blocks and how they left the node, so that a node that is started with it again goes on where
   * it ended. Without it all is kept in memory alone.
   */
  readonly dataDir?: string | undefined;
  /**
   * Where transactions of version TX_VERSION_V3 carry the chain's identifier. By default as the profile says:
   * `signed-and-submitted` follows the specification (2.5), `signature-only` deployed nodes.
   */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
  /**
   * The limit on the calls of each address; none by default. `true` stands for that of deployed nodes: 100 calls at
   * once, 20 a second, and a ban of ten minutes for who goes on after refusals.
   */
  readonly rateLimit?: boolean | RateLimit | undefined;
  /** Whether the gateway takes the commands of {@link Controls} below `/admin/`; false by default. */
  readonly admin?: boolean | undefined;
  /** Told of each transaction that was taken into the mempool, and not carried out, or in part only. */
  readonly onFailure?: ((failure: TransactionFailure) => void) | undefined;
  /** Cancels the start; aborted later, it stops the node as {@link Devnode.close} does. */
  readonly signal?: AbortSignal | undefined;
}

const CHAIN_ID_PREFIXES: readonly ChainIdPrefix[] = ["signed-and-submitted", "signature-only"];
/** What a party begins with of each asset, in units of the asset's last decimal. */
const STARTING_BALANCE = "1000000000000000000000000";
/** The most segments to begin with: all of them are listed together. */
const MAX_SEGMENTS = 1_000_000;
/** The most blocks to begin with. They are a second apart, and their times have to fit 64 bits. */
const MAX_BLOCKS = 1_000_000_000;
/** The most trades of made-up parties in a block. */
const MAX_ACTIVITY = 10_000;

/**
 * Check the options of a local node, and fill in the defaults.
 *
 * @param options the options
 * @returns all of them, and `settings`: those that the blocks of a folder depend on
 * @throws {@link RequestError} naming the option that has an invalid value
 */
export function checkOptions(options: DevnodeOptions) {
  const { chainId = "tradewire-devnet", profile = "specification", rateLimit = false } = options;
  if (!profiles.includes(profile)) {
    throw new RequestError(`profile is ${quoted(String(profile))}`, { advice: `Give ${profiles.join(" or ")}.` });
  }
  const { blocksPerSegment = profile === "deployed" ? 300 : 1000, segments = 5, activity = 0 } = options;
  const { schemaVersions = [115, 115, 115, 116], genesis = {}, blockMs = 1000 } = options;
  const { grpcPort = 0, restPort = 0 } = options;
  if (typeof chainId !== "string" || !isChainId(chainId)) {
    throw new RequestError(`chainId ${quoted(String(chainId))} cannot be part of a file name`, {
      advice: "Use 1 to 50 characters of A-Z a-z 0-9 . _ -",
    });
  }
  for (const [name, port] of Object.entries({ grpcPort, restPort })) {
    requireWhole(name, port, 0, 65_535, "Give a TCP port from 1 to 65535, or 0 for a free one.");
  }
  requireWhole("segments", segments, 1, MAX_SEGMENTS, `Give a whole number from 1 to ${MAX_SEGMENTS}.`);
  requireWhole("blocksPerSegment", blocksPerSegment, 1, MAX_BLOCKS, `Give a whole number from 1 to ${MAX_BLOCKS}.`);
  if (segments * blocksPerSegment > MAX_BLOCKS) {
    throw new RequestError(`segments and blocksPerSegment make ${segments * blocksPerSegment} blocks`, {
      advice: `Give ${MAX_BLOCKS} blocks at most in all segments together.`,
    });
  }
  requireWhole("blockMs", blockMs, 0, 2 ** 31 - 1, "Give whole milliseconds, or 0 for no blocks.");
  requireWhole("activity", activity, 0, MAX_ACTIVITY, `Give the trades of a block, 0 to ${MAX_ACTIVITY}.`);
  if (!Array.isArray(schemaVersions)) {
    throw wrong("schemaVersions", schemaVersions, "Give a list of versions, such as [115, 116].");
  }
  for (const version of schemaVersions) {
    requireWhole(
      "schemaVersions",
      version,
      1,
      NEWEST_SCHEMA_VERSION,
      `Give versions from 1 to ${NEWEST_SCHEMA_VERSION}.`,
    );
  }
  if (schemaVersions.length === 0) {
    throw new RequestError("schemaVersions is empty", { advice: "Give at least one version." });
  }
  const { chainIdPrefix = profileRules[profile].chainIdPrefix } = options;
  if (!CHAIN_ID_PREFIXES.includes(chainIdPrefix)) {
    throw wrong("chainIdPrefix", chainIdPrefix, `Give ${CHAIN_ID_PREFIXES.join(" or ")}.`);
  }
  if (typeof rateLimit !== "boolean" && (typeof rateLimit !== "object" || rateLimit === null)) {
    throw wrong("rateLimit", rateLimit, "Give true, false, or an object such as { burst: 100, perSecond: 20 }.");
  }
  if (typeof genesis !== "object" || genesis === null) {
    throw wrong("genesis", genesis, "Give an object of rows by table, such as { trades: [] }.");
  }
  if (options.dataDir !== undefined && (typeof options.dataDir !== "string" || options.dataDir === "")) {
    throw wrong("dataDir", options.dataDir, "Give the path of a folder, or leave it out.");
  }
  const shared = { chainId, profile, segments, blocksPerSegment, schemaVersions, activity };
  return {
    ...shared,
    settings: { ...shared, genesis: Object.keys(genesis) },
    host: options.host ?? "127.0.0.1",
    grpcPort,
    restPort,
    genesis,
    blockMs,
    chainIdPrefix,
    dataDir: options.dataDir,
    rateLimit: rateLimit === false ? undefined : rateLimit === true ? {} : rateLimit,
    admin: options.admin ?? false,
    onFailure(failure: TransactionFailure) {
      try {
        options.onFailure?.(failure);
      } catch (reason) {
        process.emitWarning(`onFailure of the local node failed: ${String(reason)}`);
      }
    },
    keys: devKeys,
    startingBalance: STARTING_BALANCE,
    signal: options.signal,
  };
}

function requireWhole(name: string, value: number, low: number, high: number, advice: string): void {
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    throw wrong(name, value, advice);
  }
}

function wrong(name: string, value: unknown, advice: string): RequestError {
  const found = typeof value === "number" ? String(value) : quoted(String(value));
  return new RequestError(`${name} is ${found}`, { advice });
}
