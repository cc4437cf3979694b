import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Transaction, TransactionSchema, TxVersion } from "../../gen/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../errors/index.js";
import { encodeHex } from "./hex.js";
import { type CommandSource, encodeInputData } from "./input-data.js";
import { solve } from "./proof-of-work.js";
import {
  chainIdPrefixOf,
  PUBLIC_KEY_BYTES,
  SIGNATURE_ALGORITHM,
  SIGNATURE_VERSION,
  verifySignature,
} from "./signature.js";
import type { Signer } from "./signer.js";

/**
 * What becomes of the prefix that transactions of version TX_VERSION_V3 have, the chain's identifier and a zero byte:
 * `signed-and-submitted` is the specification's way (2.5); deployed nodes want it `signature-only`.
 */
export type ChainIdPrefix = "signed-and-submitted" | "signature-only";

/** How the input data is put into a transaction and signed. */
export interface TransactionForm {
  /** By default TX_VERSION_V3. Without a chain's identifier, TX_VERSION_V2 holds on any chain. */
  readonly version?: "TX_VERSION_V3" | "TX_VERSION_V2" | undefined;
  /** By default `signed-and-submitted`. */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
  /** `tx.pow.tid`: names the transaction and is used once; 32 random bytes in hex by default. */
  readonly tid?: string | undefined;
  /** The input data's nonce; random by default. */
  readonly nonce?: bigint | undefined;
}

/** The block that a transaction is tied to, and the work that this takes. */
export interface BlockTask {
  readonly chainId: string;
  readonly height: bigint;
  /** Its hash, 64 hex digits: hashed as this text. */
  readonly hash: string;
  /** How many zero bits the proof of work has to start with. */
  readonly difficulty: number;
  readonly hashFunction: string;
}

/** What {@link createTransaction} needs besides the command. */
export interface TransactionOptions extends TransactionForm {
  readonly signer: Signer;
  readonly block: BlockTask;
  /** Stops the search for the proof of work. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Make a transaction of a command: check it, serialize it, sign it and do the work (specification, 2.5). Nothing is sent.
 *
 * @throws {@link CommandError} where a field of the command is wrong; nothing has been signed then
 * @throws {@link RequestError} where something else cannot be, or the signer's signature does not verify
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function createTransaction(command: CommandSource, options: TransactionOptions): Promise<Transaction> {
  const { signer, block, signal, nonce } = options;
  const { version = "TX_VERSION_V3", chainIdPrefix = "signed-and-submitted" } = options;
  const { tid = encodeHex(randomBytes(32)) } = options;
  requirePublicKey(signer.publicKey);
  if (version === "TX_VERSION_V3" && block.chainId === "") {
    throw new RequestError("the chain's identifier is empty", {
      advice: "A transaction of version TX_VERSION_V3 is signed for one chain: give its identifier.",
    });
  }
  const bare = encodeInputData(command, { blockHeight: block.height, nonce });
  const prefix = version === "TX_VERSION_V3" ? chainIdPrefixOf(block.chainId) : new Uint8Array();
  const message = Uint8Array.from([...prefix, ...bare]);
  const signature = encodeHex(await signer.sign(message));
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

function requirePublicKey(publicKey: string): void {
  if (!new RegExp(`^[0-9a-f]{${2 * PUBLIC_KEY_BYTES}}$`).test(publicKey)) {
    throw new RequestError(`signer.publicKey is ${JSON.stringify(publicKey)}`, {
      advice: "Give an Ed25519 public key: 64 hex digits in lower case.",
    });
  }
}
