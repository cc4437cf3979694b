import * as z from "zod";
import { RequestError } from "../errors/index.js";
import { isChainId } from "../input/assert.js";
import { integer, optionsSchema, parseInput } from "../input/schemas.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { type Profile, profileRules, profiles } from "../schema/profile.js";
import { type TableName, tableNames } from "../schema/table-names.js";
import { NEWEST_SCHEMA_VERSION } from "../schema/table-schema.js";
import type { ChainIdPrefix } from "../transaction/signature.js";
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
  /**
   * The public keys that have balances and governance tokens, beside the ten that the node prints: 64 hex digits each. The
   * commands of all other keys are then refused for want of an account, of funds or of tokens, as on a real network. By
   * default every key has both.
   */
  readonly fundedKeys?: readonly string[] | undefined;
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
  /**
   * Further names that requests for commands may give as `Host`, such as a container's. The names of this machine and the
   * host that the node listens on always may; a command for any other name is refused with 421.
   */
  readonly adminNames?: readonly string[] | undefined;
  /** Told of each transaction that was taken into the mempool, and not carried out, or in part only. */
  readonly onFailure?: ((failure: TransactionFailure) => void) | undefined;
  /** Cancels the start; aborted later, it stops the node as {@link Devnode.close} does. */
  readonly signal?: AbortSignal | undefined;
}

const CHAIN_ID_PREFIXES = ["signed-and-submitted", "signature-only"] as const satisfies readonly ChainIdPrefix[];
const NAMES = "Give host names without ports, such as node.example.";
/** What a party begins with of each asset, in units of the asset's last decimal. */
const STARTING_BALANCE = "1000000000000000000000000";
/** The most segments to begin with: all of them are listed together. */
const MAX_SEGMENTS = 1_000_000;
/** The most blocks to begin with. They are a second apart, and their times have to fit 64 bits. */
const MAX_BLOCKS = 1_000_000_000;
/** The most trades of made-up parties in a block. */
const MAX_ACTIVITY = 10_000;

const oneOf = <const Choice extends string>(choices: readonly Choice[]) =>
  z.enum(choices, `Give ${choices.join(" or ")}.`);
const port = integer(0, 65_535, "Give a TCP port from 1 to 65535, or 0 for a free one.").default(0);
const VERSIONS = `Give versions from 1 to ${NEWEST_SCHEMA_VERSION}, such as 115 and 116.`;
const KEYS = "Give public keys of 64 hex digits in lower case, or an empty list for the node's own alone.";
const LIMIT = "Give true, false, or an object such as { burst: 100, perSecond: 20 }.";
const least = (low: number, advice: string) => z.number(advice).min(low, advice).optional();

const rateLimit = optionsSchema(
  {
    burst: least(1, "Give a number of calls from 1."),
    perSecond: least(0, "Give a number of calls from 0."),
    banMs: least(0, "Give milliseconds from 0."),
  } satisfies Record<keyof RateLimit, unknown>,
  LIMIT,
).optional();

/** Rows are checked one by one where they are read. */
const rows = z
  .custom<Genesis[TableName]>(
    (given) => typeof given === "string" || given instanceof Uint8Array || Array.isArray(given),
    "Give a list of rows, each an object of values by column, or CSV with a header row.",
  )
  .optional();
const genesis = optionsSchema(
  Object.fromEntries(tableNames.map((table) => [table, rows])),
  "Give an object of rows by table, such as { trades: [] }.",
);

const schema = optionsSchema(
  {
    host: z
      .string("Give the address to listen on, such as 127.0.0.1.")
      .regex(/^[^\s\p{Cc}]+$/u, "Give the address to listen on, such as 127.0.0.1.")
      .default("127.0.0.1"),
    grpcPort: port,
    restPort: port,
    chainId: z
      .custom<string>(
        (id) => typeof id === "string" && isChainId(id),
        "It becomes part of file names: use 1 to 50 characters of A-Z a-z 0-9 . _ -",
      )
      .default("tradewire-devnet"),
    profile: oneOf(profiles).default("specification"),
    segments: integer(1, MAX_SEGMENTS, `Give a whole number from 1 to ${MAX_SEGMENTS}.`).default(5),
    blocksPerSegment: integer(1, MAX_BLOCKS, `Give a whole number from 1 to ${MAX_BLOCKS}.`).optional(),
    schemaVersions: z
      .array(integer(1, NEWEST_SCHEMA_VERSION, VERSIONS), VERSIONS)
      .min(1, VERSIONS)
      .default([115, 115, 115, 116]),
    genesis: genesis.default({}),
    fundedKeys: z.array(z.string(KEYS).regex(/^[0-9a-f]{64}$/, KEYS), KEYS).optional(),
    activity: integer(0, MAX_ACTIVITY, `Give the trades of a block, 0 to ${MAX_ACTIVITY}.`).default(0),
    blockMs: integer(0, MAX_TIMER_MS, "Give whole milliseconds, or 0 for no blocks.").default(1000),
    dataDir: z
      .string("Give the path of a folder, or leave it out.")
      .min(1, "Give the path of a folder, or leave it out.")
      .optional(),
    chainIdPrefix: oneOf(CHAIN_ID_PREFIXES).optional(),
    rateLimit: z.preprocess((given: unknown) => (given === true ? {} : given === false ? undefined : given), rateLimit),
    admin: z.boolean("Give true or false.").default(false),
    adminNames: z.array(z.string(NAMES).regex(/^[\w.-]+$/, NAMES), NAMES).default([]),
    onFailure: z
      .custom<NonNullable<DevnodeOptions["onFailure"]>>(
        (given) => typeof given === "function",
        "Give a function, or leave it out.",
      )
      .optional(),
    signal: z.custom<AbortSignal>(isSignal, "Give the signal of an AbortController, or leave it out.").optional(),
  } satisfies Record<keyof DevnodeOptions, unknown>,
  "Give an object of options, such as { activity: 2 }, or nothing.",
);

/**
 * Check the options of a local node, and fill in the defaults.
 *
 * @param given the options
 * @returns all of them, and `settings`: those that the blocks of a folder depend on
 * @throws {@link RequestError} naming the option that has an invalid value, or does not exist
 */
export function checkOptions(given: DevnodeOptions) {
  const options = parseInput(schema, given, "startDevnode");
  const { chainId, profile, segments, schemaVersions, activity, fundedKeys, onFailure } = options;
  const { blocksPerSegment = profile === "deployed" ? 300 : 1000 } = options;
  if (segments * blocksPerSegment > MAX_BLOCKS) {
    throw new RequestError((nameOf) => `and ${nameOf("blocksPerSegment")} make ${segments * blocksPerSegment} blocks`, {
      option: "segments",
      advice: `Give ${MAX_BLOCKS} blocks at most in all segments together.`,
    });
  }
  const shared = { chainId, profile, segments, blocksPerSegment, schemaVersions, activity };
  return {
    ...options,
    ...shared,
    settings: { ...shared, ...(fundedKeys && { fundedKeys }), genesis: Object.keys(given.genesis ?? {}) },
    chainIdPrefix: options.chainIdPrefix ?? profileRules[profile].chainIdPrefix,
    onFailure(failure: TransactionFailure) {
      try {
        onFailure?.(failure);
      } catch (reason) {
        process.emitWarning(`onFailure of the local node failed: ${String(reason)}`);
      }
    },
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
 * The mnemonic of the local node's keys. It is a phrase that everybody knows: never send anything of worth to its keys.
 */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** The public keys of that mnemonic's wallet, those of the indexes 1 to 10. */
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
