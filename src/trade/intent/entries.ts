import { toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import * as v from "valibot";
import { type Transaction, TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { FileError, type Refusal } from "../../base/errors/index.js";
import { tryDecode } from "../../base/input/decode.js";
import { strictObject } from "../../base/input/schemas.js";
import type { Outcome, OutcomePart } from "../live/transaction-outcome.js";

/** How an intent ended. It ends once. */
export type IntentEnding = {
  readonly txHash: string;
  /** The height of the block that contains it; `undefined` if only records show it, or if no block does. */
  readonly block: bigint | undefined;
  /**
   * The outcome of each part of a batch, or of each stop order of a pair, with the identifiers of their records. Other commands
   * have one part. Parts are missing if the node did not say whether they failed.
   */
  readonly parts: readonly OutcomePart[];
} /** The network executed it. */ & (
  | {
      readonly status: "executed";
      /** The evidence of the outcome, or `decision`: the program decided it with {@link Intents.end}. */
      readonly evidence: Evidence;
      readonly reason: undefined;
      readonly refusal: undefined;
      readonly advice: undefined;
    }
  /** The network executed only a part of a batch (`partial`), or nothing of it, and it never will (`failed`). */
  | {
      readonly status: "partial" | "failed";
      /** The evidence of the outcome, `decision`, or `refusal`: a node refused the first submission. */
      readonly evidence: Evidence | "refusal";
      /**
       * Why, in the words of the network or of its records; otherwise in those of this library. The words depend on the evidence,
       * so do not branch on them.
       */
      readonly reason: string;
      /** The kind of the refusal; `undefined` without one. */
      readonly refusal: Refusal | undefined;
      /** What to do about the refusal; `undefined` without one. */
      readonly advice: string | undefined;
    }
);

type Evidence = Exclude<Outcome, { readonly status: "unknown" }>["evidence"] | "decision";

interface SignedIntent {
  readonly transaction: Transaction;
  /** The last block in which the network can execute it. */
  readonly lastBlock: bigint;
}

/** An intent as the journal records it. */
export interface Intent {
  /** The command, as serialized input data without a nonce and block height. */
  readonly command: Uint8Array;
  readonly publicKey: string;
  readonly chainId: string;
  /** Its transaction. There is only one, so the intent cannot be executed twice. */
  readonly signed: SignedIntent;
  readonly ending: IntentEnding | undefined;
}

interface KnownEnding<E> {
  readonly txHash: string;
  readonly block?: bigint | undefined;
  readonly evidence: E;
  readonly parts: readonly OutcomePart[];
}

interface Failure extends KnownEnding<Evidence | "refusal"> {
  readonly reason: string;
  readonly refusal?: Refusal | undefined;
  readonly advice?: string | undefined;
}

// The order of the fields is that of an ending's JSON.

export function executedEnding({ txHash, block, evidence, parts }: KnownEnding<Evidence>): IntentEnding {
  const none = undefined;
  return { status: "executed", txHash, block, evidence, reason: none, refusal: none, advice: none, parts };
}

export function failedEnding(status: "partial" | "failed", failure: Failure): IntentEnding {
  const { txHash, block, evidence, reason, refusal, advice, parts } = failure;
  return { status, txHash, block, evidence, reason, refusal, advice, parts };
}

const VERSION = 1;

const block = v.pipe(
  v.string(),
  v.regex(/^\d{1,20}$/),
  v.transform((digits) => BigInt(digits)),
);
const bytes = v.pipe(
  v.string(),
  v.base64(),
  v.transform((text) => base64Decode(text)),
);
const txHash = v.pipe(v.string(), v.regex(/^[0-9A-F]{64}$/));
const evidence = v.picklist(["result", "records", "blocks", "absence", "decision"]);
const refusal = v.enum({
  duplicate: "duplicate",
  seen: "seen",
  expired: "expired",
  spam: "spam",
  "spam-unknown": "spam-unknown",
  profile: "profile",
  "not-executable": "not-executable",
  invalid: "invalid",
} as const satisfies { readonly [Kind in Refusal]: Kind });
const maybeBlock = v.optional(block);
const part = v.pipe(
  strictObject({
    path: v.string(),
    status: v.picklist(["executed", "failed"]),
    reason: v.optional(v.string()),
    brings: v.optional(v.picklist(["order", "stop order", "transfer", "withdrawal", "proposal"])),
    id: v.optional(v.string()),
  }),
  v.transform(({ path, status, reason, brings, id }): OutcomePart => ({ path, brings, id, status, reason })),
);
const parts = v.array(part);

const entrySchema = v.variant("kind", [
  strictObject({
    kind: v.literal("intent"),
    version: v.literal(VERSION),
    command: bytes,
    publicKey: v.string(),
    chainId: v.string(),
    transaction: bytes,
    lastBlock: block,
  }),
  strictObject({ kind: v.literal("executed"), txHash, evidence, block: maybeBlock, parts }),
  strictObject({
    kind: v.picklist(["partial", "failed"]),
    txHash,
    evidence: v.union([evidence, v.literal("refusal")]),
    block: maybeBlock,
    reason: v.string(),
    refusal: v.optional(refusal),
    advice: v.optional(v.string()),
    parts,
  }),
]);

export function intentEntry({ command, publicKey, chainId, signed }: Omit<Intent, "ending">): string {
  const transaction = base64Encode(toBinary(TransactionSchema, signed.transaction));
  const head = { kind: "intent", version: VERSION, command: base64Encode(command), publicKey, chainId };
  return JSON.stringify({ ...head, transaction, lastBlock: String(signed.lastBlock) });
}

export function endingEntry({ status: kind, block: height, ...ending }: IntentEnding): string {
  return JSON.stringify({ kind, ...ending, ...(height !== undefined && { block: String(height) }) });
}

/**
 * Reads an intent from its entries.
 *
 * @throws {@link FileError} if they do not form an intent
 */
export function readIntent(id: string, entries: readonly string[]): Intent | undefined {
  let intent: Intent | undefined;
  for (const [index, text] of entries.entries()) {
    intent = withEntry(intent, parseEntry(text));
    if (intent === undefined) {
      throw new FileError(`invalid entry ${index + 1} of intent ${quoted(id)} in the journal`, {
        code: Code.DataLoss,
        advice: "Restore the journal, or install the version of tradewire that wrote it, or a later one.",
      });
    }
  }
  return intent;
}

function parseEntry(text: string): v.InferOutput<typeof entrySchema> | undefined {
  try {
    return v.parse(entrySchema, JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns the intent with one more entry; `undefined` if the entry does not fit. */
function withEntry(intent: Intent | undefined, entry: ReturnType<typeof parseEntry>): Intent | undefined {
  if (entry === undefined || intent?.ending !== undefined) {
    return undefined;
  }
  if (entry.kind === "intent") {
    const { command, publicKey, chainId, lastBlock } = entry;
    const transaction = tryDecode(TransactionSchema, entry.transaction);
    return intent === undefined && transaction !== undefined
      ? { command, publicKey, chainId, signed: { transaction, lastBlock }, ending: undefined }
      : undefined;
  }
  if (intent === undefined) {
    return undefined;
  }
  return { ...intent, ending: entry.kind === "executed" ? executedEnding(entry) : failedEnding(entry.kind, entry) };
}
