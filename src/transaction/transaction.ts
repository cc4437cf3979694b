import { create } from "@bufbuild/protobuf";
import { type Transaction, TransactionSchema, TxVersion } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { requireChainId } from "../errors/chain-id.js";
import { requireKnown, requireObject, wrong } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { randomBytes } from "../runtime/index.js";
import { untilAborted } from "../signal/until-aborted.js";
import { encodeHex } from "./hex.js";
import type { CommandSource } from "./input-data.js";
import { requireAffordable, solve } from "./proof-of-work.js";
import {
  chainIdPrefixOf,
  PUBLIC_KEY_BYTES,
  SIGNATURE_ALGORITHM,
  SIGNATURE_VERSION,
  verifySignature,
} from "./signature.js";
import type { Signer } from "./signer.js";

/**
 * How the prefix of version TX_VERSION_V3, the chain's identifier and a zero byte, is used. By the specification (2.5)
 * it is `signed-and-submitted`; deployed nodes want it `signature-only`.
 */
export type ChainIdPrefix = "signed-and-submitted" | "signature-only";

/** How the input data is put into a transaction and signed. */
export interface TransactionForm {
  /** TX_VERSION_V3 by default. TX_VERSION_V2 has no chain's identifier, so its signature is valid on any chain. */
  readonly version?: "TX_VERSION_V3" | "TX_VERSION_V2" | undefined;
  /** `signed-and-submitted` by default. */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
  /** `tx.pow.tid`, which identifies the transaction and can be used once; 32 random bytes in hex by default. */
  readonly tid?: string | undefined;
  /** The input data's nonce, 1 to 2^64 - 1; random by default. */
  readonly nonce?: bigint | undefined;
  /** The most difficulty of the proof of work that is worked for, in zero bits; 28 by default. */
  readonly maxDifficulty?: number | undefined;
}

/** The names of {@link TransactionForm}. */
export const FORM_OPTIONS = {
  version: true,
  chainIdPrefix: true,
  tid: true,
  nonce: true,
  maxDifficulty: true,
} as const;

/** The most difficulty that is worked for where the caller does not say. Networks ask for about 15 zero bits. */
export const MAX_DIFFICULTY = 28;

/** The block that a transaction is tied to, and the proof of work that this needs. */
export interface BlockTask {
  /** The chain to sign for: 1 to 50 characters of `A-Z a-z 0-9 . _ -`. It decides what the signature is valid for. */
  readonly chainId: string;
  readonly height: bigint;
  /** Its hash, 64 hex digits; the proof of work hashes this text as it is. */
  readonly hash: string;
  /** How many zero bits the proof of work has to start with. */
  readonly difficulty: number;
  readonly hashFunction: string;
}

/** How {@link createTransaction} makes a transaction. */
export interface TransactionOptions extends TransactionForm {
  readonly signer: Signer;
  readonly block: BlockTask;
  /** Ends the wait for the signer, and the search for the proof of work. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Make a transaction of a command: check it, serialize it, sign it and find its proof of work (specification, 2.5).
 * Nothing is sent.
 *
 * @param command the command by its name and fields, or serialized input data
 * @param options the signer, the block to tie it to, the transaction's form, and a signal
 * @returns the transaction, ready to be submitted
 * @throws {@link CommandError} where a field of the command is wrong; nothing has been signed then
 * @throws {@link RequestError} where another option is invalid, the difficulty is above `maxDifficulty`, or the signer's
 *   signature does not verify
 * @throws {@link CanceledError} where the signal was aborted
 *
 * @example
 * const block = { chainId: "chain-1", height: 1000n, hash, difficulty: 15, hashFunction: "sha3_24_rounds" };
 * const tx = await createTransaction({ case: "stopOrdersCancellation", value: {} }, { signer, block });
 */
export async function createTransaction(command: CommandSource, options: TransactionOptions): Promise<Transaction> {
  requireKnown("options", options, { ...FORM_OPTIONS, signer: true, block: true, signal: true });
  const { signer, block, signal, nonce } = options;
  requireObject("block", block);
  const { version = "TX_VERSION_V3", chainIdPrefix = "signed-and-submitted" } = options;
  const { tid = encodeHex(randomBytes(32)), maxDifficulty = MAX_DIFFICULTY } = options;
  requireAffordable(block.difficulty, maxDifficulty);
  requireSigner(signer);
  requirePublicKey(signer.publicKey);
  if (version === "TX_VERSION_V3") {
    requireChainId("block.chainId", block.chainId);
  }
  const { encodeInputData } = await import("./input-data.js"); // It needs the definitions of all commands.
  const bare = encodeInputData(command, { blockHeight: block.height, nonce });
  const prefix = version === "TX_VERSION_V3" ? chainIdPrefixOf(block.chainId) : new Uint8Array();
  const message = Uint8Array.from([...prefix, ...bare]);
  const signature = encodeHex(await untilAborted(signer.sign(message), signal));
  if (!verifySignature(message, signature, signer.publicKey)) {
    throw new RequestError(`the signer's signature is not one of ${signer.publicKey} over the message`, {
      advice: "A signer signs the SHA3-256 digest of the message by Ed25519, with the key that it names.",
    });
  }
  const { hash: blockHash, difficulty, hashFunction } = block;
  const proof = await solve({ blockHash, tid, difficulty, hashFunction, signal });
  return create(TransactionSchema, {
    inputData: chainIdPrefix === "signature-only" ? bare : message,
    signature: { value: signature, algo: SIGNATURE_ALGORITHM, version: SIGNATURE_VERSION },
    from: { case: "pubKey", value: signer.publicKey },
    version: version === "TX_VERSION_V3" ? TxVersion.V3 : TxVersion.V2,
    pow: { tid, nonce: proof.nonce },
  });
}

/**
 * Check what is to sign.
 *
 * @param signer the signer
 * @throws {@link RequestError} where it is none
 */
export function requireSigner(signer: Partial<Signer> | undefined): void {
  if (typeof signer?.publicKey !== "string" || typeof signer.sign !== "function") {
    if (signer instanceof Promise) {
      throw wrong("signer", signer, "Await it: const signer = await signerFromKeyFile(path).");
    }
    throw wrong("signer", signer, "Give what signerFromKeyFile() makes, or { publicKey, sign(message) }.");
  }
}

function requirePublicKey(publicKey: string): void {
  if (!new RegExp(`^[0-9a-f]{${2 * PUBLIC_KEY_BYTES}}$`).test(publicKey)) {
    throw new RequestError(`signer.publicKey is ${JSON.stringify(publicKey)}`, {
      advice: "Give an Ed25519 public key: 64 hex digits in lower case.",
    });
  }
}
