import * as v from "valibot";
import { RequestError } from "../base/errors/index.js";
import { createEventReporter } from "../base/errors/observer.js";
import { isBytes, isChainId } from "../base/input/assert.js";
import { integer, optionsSchema, parseInput } from "../base/input/schemas.js";
import { type Profile, profileRules, profiles } from "../base/profile.js";
import { MAX_TIMER_MS } from "../base/runtime/index.js";
import { type TableName, tableNames } from "../data/schema/table-names.js";
import { NEWEST_SCHEMA_VERSION } from "../data/schema/table-schema.js";
import type { ChainIdPrefix } from "../trade/transaction/signature.js";
import type { Genesis } from "./history/history.js";
import type { TransactionFailure } from "./local-network.js";
import type { RateLimit } from "./rate-limit.js";

/** Options of a local node. */
export interface DevnodeOptions {
  /** The address to listen on. The default, `127.0.0.1`, cannot be reached from other machines. */
  readonly host?: string | undefined;
  /** TCP port for gRPC; with 0, the default, the system chooses a free one. */
  readonly grpcPort?: number | undefined;
  /** TCP port for the HTTP gateway; with 0, the default, the system chooses a free one. */
  readonly restPort?: number | undefined;
  /** Identifier of the chain, 1 to 50 characters of `A-Z a-z 0-9 . _ -`; `tradewire-devnet` by default. */
  readonly chainId?: string | undefined;
  /**
   * Whether the node behaves as specified, the default, or as deployed nodes do. The profile determines the content and the
   * file names of exports, the messages of refusals, and when spam is refused.
   */
  readonly profile?: Profile | undefined;
  /** Number of history segments at the start; 5 by default. */
  readonly segments?: number | undefined;
  /** Number of blocks in each segment; 1000 by default, 300 with the profile `deployed`. */
  readonly blocksPerSegment?: number | undefined;
  /**
   * The version of the database schema of each segment, in order; the last version applies to all later segments. By default 115
   * for the first three segments, then 116.
   */
  readonly schemaVersions?: readonly number[] | undefined;
  /** Your own rows, by table. They replace the generated rows of the table. */
  readonly genesis?: Genesis | undefined;
  /**
   * The public keys that have balances and governance tokens, in addition to the ten that the node prints: 64 hex digits
   * each. Commands of all other keys are then refused because they have no account, funds or tokens, as on a real network.
   * By default every key has both.
   */
  readonly fundedKeys?: readonly string[] | undefined;
  /** Number of trades between simulated parties in each block; 0 by default. The trades are the same on every start. */
  readonly activity?: number | undefined;
  /**
   * Milliseconds from one block to the next; 1000 by default. With 0, blocks are made only by {@link Controls.makeBlock}.
   */
  readonly blockMs?: number | undefined;
  /**
   * Milliseconds from the events of a block until its records are committed, so that listings have them. A deployed data node
   * sends events before it commits, typically by 75 ms, which is the default; with `blockMs: 0`, the default is 0, so that a
   * listing after {@link Controls.makeBlock} has the block.
   */
  readonly commitDelayMs?: number | undefined;
  /**
   * A folder that stores the blocks and the state after them, so that a node started with it again continues where it
   * stopped. Without it, everything is in memory only.
   */
  readonly dataDir?: string | undefined;
  /**
   * Where transactions of version TX_VERSION_V3 contain the chain's identifier: `signed-and-submitted`, as with the
   * profile `specification`, or `signature-only`, as on deployed nodes. The default depends on the profile.
   */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
  /**
   * The rate limit of each client address; none by default. With `true`, it is the limit of deployed nodes: bursts of 100
   * calls, 20 calls per second, and a ban of ten minutes for clients that continue after refusals.
   */
  readonly rateLimit?: boolean | RateLimit | undefined;
  /** Whether the gateway accepts the commands of {@link Controls} below `/admin/`; false by default. */
  readonly admin?: boolean | undefined;
  /**
   * Additional hostnames to accept in the `Host` header of commands, such as a container's. The names of this machine and
   * the host that the node listens on are always accepted; commands with any other name are refused with 421.
   */
  readonly adminNames?: readonly string[] | undefined;
  /** Called for each transaction that the mempool accepted but that failed, completely or in part. */
  readonly onFailure?: ((failure: TransactionFailure) => void) | undefined;
  /** Cancels the start. When it is aborted later, the node stops, as with {@link Devnode.close}. */
  readonly signal?: AbortSignal | undefined;
}

const CHAIN_ID_PREFIXES = ["signed-and-submitted", "signature-only"] as const satisfies readonly ChainIdPrefix[];
const HOST = "must be the address to listen on, such as 127.0.0.1";
const CHAIN_ID = "must be 1 to 50 characters of A-Z a-z 0-9 . _ -";
const FOLDER = "must be the path of a folder";
const HOST_NAMES = "must be an array of hostnames without ports, such as node.example";
/** A party's initial balance of each asset, in the asset's smallest unit. */
const STARTING_BALANCE = "1000000000000000000000000";
/** The typical time from the events of a block until a deployed data node has committed it. */
const COMMIT_DELAY_MS = 75;
/** The maximum number of initial segments: all of them are in one listing. */
const MAX_SEGMENTS = 1_000_000;
/** The maximum number of initial blocks. They are a second apart, and their times must fit 64 bits. */
const MAX_BLOCKS = 1_000_000_000;
/** The maximum number of trades of simulated parties in a block. */
const MAX_ACTIVITY = 10_000;

const oneOf = <const Choice extends string>(choices: readonly Choice[]) =>
  v.picklist(choices, `must be ${choices.join(" or ")}`);
const port = v.optional(integer(0, 65_535, "must be a TCP port from 1 to 65535, or 0 for a free one"), 0);
const VERSIONS = `must be an array of schema versions from 1 to ${NEWEST_SCHEMA_VERSION}, such as 115 and 116`;
const KEYS =
  "must be an array of public keys of 64 lowercase hex digits; an empty array funds only the node's own keys";
const LIMIT = "must be true, false, or an object such as { burst: 100, perSecond: 20 }";
const numberFrom = (min: number, form: string) =>
  v.optional(v.pipe(v.number(form), v.finite(form), v.minValue(min, form)));

const rateLimit = v.optional(
  optionsSchema(
    {
      burst: numberFrom(1, "must be a number of calls of at least 1"),
      perSecond: numberFrom(0, "must be a number of calls of at least 0"),
      banMs: numberFrom(0, "must be a number of milliseconds of at least 0"),
    } satisfies Record<keyof RateLimit, unknown>,
    LIMIT,
  ),
);

/** Validates only the container: each row is validated when it is read. */
const rows = v.optional(
  v.custom<Genesis[TableName]>(
    (input) => typeof input === "string" || isBytes(input) || Array.isArray(input),
    "must be an array of rows, each an object of values by column, or CSV with a header row",
  ),
);
const genesis = optionsSchema(
  Object.fromEntries(tableNames.map((table) => [table, rows])),
  "must be an object of rows by table, such as { trades: [] }",
);

const schema = optionsSchema(
  {
    host: v.optional(v.pipe(v.string(HOST), v.regex(/^[^\s\p{Cc}]+$/u, HOST)), "127.0.0.1"),
    grpcPort: port,
    restPort: port,
    chainId: v.optional(v.pipe(v.string(CHAIN_ID), v.check(isChainId, CHAIN_ID)), "tradewire-devnet"),
    profile: v.optional(oneOf(profiles), "specification"),
    segments: v.optional(integer(1, MAX_SEGMENTS, `must be a whole number from 1 to ${MAX_SEGMENTS}`), 5),
    blocksPerSegment: v.optional(integer(1, MAX_BLOCKS, `must be a whole number from 1 to ${MAX_BLOCKS}`)),
    schemaVersions: v.optional(
      v.pipe(v.array(integer(1, NEWEST_SCHEMA_VERSION, VERSIONS), VERSIONS), v.minLength(1, VERSIONS)),
      [115, 115, 115, 116],
    ),
    genesis: v.optional(genesis, {}),
    fundedKeys: v.optional(v.array(v.pipe(v.string(KEYS), v.regex(/^[0-9a-f]{64}$/, KEYS)), KEYS)),
    activity: v.optional(
      integer(0, MAX_ACTIVITY, `must be the number of trades in each block, from 0 to ${MAX_ACTIVITY}`),
      0,
    ),
    blockMs: v.optional(
      integer(0, MAX_TIMER_MS, "must be a whole number of milliseconds, or 0 to make no blocks"),
      1000,
    ),
    commitDelayMs: v.optional(integer(0, MAX_TIMER_MS, "must be a whole number of milliseconds of at least 0")),
    dataDir: v.optional(v.pipe(v.string(FOLDER), v.minLength(1, FOLDER))),
    chainIdPrefix: v.optional(oneOf(CHAIN_ID_PREFIXES)),
    rateLimit: v.optional(
      v.pipe(
        v.unknown(),
        v.transform((input) => (input === true ? {} : input === false ? undefined : input)),
        rateLimit,
      ),
    ),
    admin: v.optional(v.boolean("must be true or false"), false),
    adminNames: v.optional(v.array(v.pipe(v.string(HOST_NAMES), v.regex(/^[\w.-]+$/, HOST_NAMES)), HOST_NAMES), []),
    onFailure: v.optional(
      v.custom<NonNullable<DevnodeOptions["onFailure"]>>((input) => typeof input === "function", "must be a function"),
    ),
    signal: v.optional(v.custom<AbortSignal>(isSignal, "must be an AbortSignal")),
  } satisfies Record<keyof DevnodeOptions, unknown>,
  "must be an object of options, such as { activity: 2 }",
);

/**
 * Validates the options of a local node, and fills in defaults.
 *
 * @throws {@link RequestError} if an option is invalid or does not exist
 */
export function parseDevnodeOptions(input: DevnodeOptions) {
  const options = parseInput(schema, input, "options");
  const { chainId, profile, segments, schemaVersions, activity, fundedKeys, onFailure } = options;
  const { blocksPerSegment = profile === "deployed" ? 300 : 1000 } = options;
  if (segments * blocksPerSegment > MAX_BLOCKS) {
    throw new RequestError(
      (nameOf) =>
        `and ${nameOf("blocksPerSegment")} result in ${segments * blocksPerSegment} blocks, which exceeds the maximum of ${MAX_BLOCKS}`,
      {
        option: "segments",
        advice: "Use fewer segments, or fewer blocks per segment.",
      },
    );
  }
  const shared = { chainId, profile, segments, blocksPerSegment, schemaVersions, activity };
  return {
    ...options,
    ...shared,
    settings: { ...shared, ...(fundedKeys && { fundedKeys }), genesis: Object.keys(input.genesis ?? {}) },
    commitDelayMs: options.commitDelayMs ?? (options.blockMs === 0 ? 0 : COMMIT_DELAY_MS),
    chainIdPrefix: options.chainIdPrefix ?? profileRules[profile].chainIdPrefix,
    onFailure: createEventReporter(onFailure, "the local node", "onFailure"),
    keys: [...new Set([...devKeys, ...(fundedKeys ?? [])])],
    startingBalance: STARTING_BALANCE,
  };
}

function isSignal(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "aborted" in value &&
    typeof value.aborted === "boolean" &&
    "addEventListener" in value &&
    typeof value.addEventListener === "function"
  );
}

/**
 * The mnemonic of the local node's keys. It is publicly known: never send anything of value to its keys.
 */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** The public keys 1 to 10 of the mnemonic's wallet. */
export const devKeys: readonly string[] = [
  "39d23ba59062d18b9f2766d748b3ca948e6344b40fd0155d6d932d759250a715",
  "1475246bf71ac28c9b580dac46f525caf69090ace59dfdb744c810d1218fc288",
  "0e88c8a48bbd93a3d2c3720fe3b0261d2cd77ce70670f698225ca81dd827ca0d",
  "0368ed75074bfb883cc7b97ba323c1b37522aaa8f8404600b69060debe5e0ad3",
  "81925caf934fcaff113a21ee63f14c83062304cca6773f04acb27d7e0487bb72",
  "3329a1de3edb2adef218a964d85bf526c049ac891cc30612feb4d33e86949ae7",
  "f0f773ab6145ead7015d5cb17932157ba11bcb9c1359be8507e5ee35415c0af1",
  "6b25177b81080424b242ecf6dcc18f290bf32ae00455f865936a354143e5d1f1",
  "984964898643828cb2e1874e1219b54d83eb0689bbad95036428aa4cbd332971",
  "6cfa1dfcc3e6ba4ed2e27b16b084c8001baa9fef2325923c7d33da9712b64a8a",
];
