import { create } from "@bufbuild/protobuf";
import { type Transaction, TransactionSchema, TxVersion } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../../base/errors/index.js";
import {
  assertChainId,
  assertFunction,
  assertKnownKeys,
  assertObject,
  invalidTypeError,
  invalidValueError,
} from "../../base/input/assert.js";
import { snapshot, snapshotData } from "../../base/input/snapshot.js";
import { withJson } from "../../base/json-result.js";
import { randomBytes } from "../../base/runtime/index.js";
import { raceAbort } from "../../base/signal/abort.js";
import { loadCommandCode } from "./command-code.js";
import { encodeHex } from "./crypto.js";
import type { CommandSource } from "./input-data.js";
import { type BlockTask, requireAffordable, solve } from "./proof-of-work.js";
import {
  type ChainIdPrefix,
  chainIdPrefixOf,
  PUBLIC_KEY_BYTES,
  SIGNATURE_ALGORITHM,
  SIGNATURE_VERSION,
  verifySignature,
} from "./signature.js";
import type { Signer } from "./signer.js";
import type { Chain, OpenedTransaction } from "./verify-transaction.js";

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
  /** Maximum difficulty of the proof of work, in zero bits; 28 by default. */
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

/** The default maximum difficulty. Networks ask for about 15 zero bits. */
export const MAX_DIFFICULTY = 28;

/** The options of {@link createTransaction}. */
export interface TransactionOptions extends TransactionForm {
  readonly signer: Signer;
  readonly block: BlockTask;
  /** Ends the wait for the signer, and the search for the proof of work. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Creates a transaction from a command: checks it, serializes it, signs it and finds its proof of work.
 * Nothing is sent.
 *
 * @param command the command by its name and fields, or serialized input data
 * @param options the signer, the block to tie it to, the transaction's form, and a signal
 * @returns the transaction, ready to be submitted
 * @throws {@link CommandError} if a field of the command is wrong; nothing has been signed then
 * @throws {@link RequestError} if another option is invalid, the difficulty is above `maxDifficulty`, or the signer's
 *   signature does not verify
 * @throws {@link CanceledError} if the signal was aborted
 *
 * @example
 * const block = { chainId: "chain-1", height: 1000n, hash, difficulty: 15, hashFunction: "sha3_24_rounds" };
 * const tx = await createTransaction({ case: "stopOrdersCancellation", value: {} }, { signer, block });
 */
export async function createTransaction(command: CommandSource, options: TransactionOptions): Promise<Transaction> {
  const given = snapshotData(command);
  const read = snapshot(options);
  assertKnownKeys("options", read, { ...FORM_OPTIONS, signer: true, block: true, signal: true });
  const { block, signal, nonce } = read;
  assertObject("block", block);
  const { version = "TX_VERSION_V3", chainIdPrefix = "signed-and-submitted" } = read;
  const { tid = encodeHex(randomBytes(32)), maxDifficulty = MAX_DIFFICULTY } = read;
  requireAffordable(block.difficulty, maxDifficulty);
  const signer = readSigner(read.signer);
  requirePublicKey(signer.publicKey);
  if (version === "TX_VERSION_V3") {
    assertChainId("block.chainId", block.chainId);
  }
  const { encodeInputData } = await loadCommandCode();
  const bare = encodeInputData(given, { blockHeight: block.height, nonce });
  const prefix = version === "TX_VERSION_V3" ? chainIdPrefixOf(block.chainId) : new Uint8Array();
  const message = Uint8Array.from([...prefix, ...bare]);
  const signature = encodeHex(await raceAbort(signer.sign(message), signal));
  if (!verifySignature(message, signature, signer.publicKey)) {
    throw new RequestError(`the signer returned a signature that is invalid for the public key ${signer.publicKey}`, {
      advice: "A signer must sign the SHA3-256 digest of the message with Ed25519 and the key of its publicKey.",
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
 * Reads a signer. Each of its properties is read once.
 *
 * @throws {@link RequestError} if it is not a signer
 */
export function readSigner(signer: Partial<Signer> | undefined): Signer {
  const { publicKey, sign, takeShare } = signer ?? {};
  if (typeof publicKey !== "string" || typeof sign !== "function") {
    if (signer instanceof Promise) {
      throw invalidValueError(
        "signer",
        signer,
        "an awaited signer",
        "Await it: const signer = await signerFromKeyFile(path).",
      );
    }
    throw invalidTypeError("signer", signer, "a result of signerFromKeyFile(), or { publicKey, sign(message) }");
  }
  assertFunction("signer.takeShare", takeShare);
  return {
    publicKey,
    sign: (message) => sign.call(signer, message),
    ...(takeShare !== undefined && { takeShare: (block) => takeShare.call(signer, block) }),
  };
}

function requirePublicKey(publicKey: string): void {
  if (!new RegExp(`^[0-9a-f]{${2 * PUBLIC_KEY_BYTES}}$`).test(publicKey)) {
    throw invalidValueError("signer.publicKey", publicKey, "an Ed25519 public key of 64 lowercase hex digits");
  }
}

/**
 * Checks everything about a transaction that can be checked without a block: version, key, signature, prefix, nonce.
 *
 * @param tx the signed transaction
 * @param chain the chain that the transaction is for, and whether the prefix is submitted
 * @returns its input data and public key (64 hex digits), or the problems by the path of the field
 * @throws {@link RequestError} if `chain.chainId` is not a valid chain identifier
 *
 * @example
 * const { inputData, problems } = await openTransaction(tx, { chainId: "chain-1" });
 */
export async function openTransaction(tx: Transaction, chain: Chain): Promise<OpenedTransaction> {
  const given = snapshotData(tx);
  const namedChain = snapshot(chain);
  const { openTransactionSync } = await loadCommandCode();
  return withJson(openTransactionSync(given, namedChain));
}
