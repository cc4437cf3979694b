// Derives keys, signs a command, proves work, and checks the result; verifies signatures of the edges of Ed25519.
import { fromBinary } from "@bufbuild/protobuf";
import {
  createTransaction,
  openTransaction,
  signerFromMnemonic,
  signerFromSeed,
  solveProofOfWork,
  TransactionSchema,
  transactionHash,
  verifyProofOfWork,
  verifySignature,
} from "tradewire/transaction";

const MNEMONIC =
  "swing ceiling chaos green put insane ripple desk match tip melt usual shrug turkey renew icon parade veteran lens govern path rough page render";
const HASH = "ffb67ea4111d466d363a5c8f355bf81e2e3504563af273f5de81a005a6247e14";
const block = { chainId: "test-1", height: 4711n, hash: HASH, difficulty: 10, hashFunction: "sha3_24_rounds" };

/** @param input the recorded transaction as hex digits, and signatures to verify, each as hex digits */
export default async function run({ recorded, signatures }) {
  const signer = await signerFromMnemonic(MNEMONIC, { index: 1 });
  const command = { case: "stopOrdersCancellation", value: { marketId: "ab".repeat(32) } };
  const tx = await createTransaction(command, { signer, block, nonce: 7n, tid: "cd".repeat(32) });
  const opened = openTransaction(tx, { chainId: block.chainId });
  const { nonce, hash } = await solveProofOfWork({ blockHash: HASH, tid: "ef".repeat(32), difficulty: 18 });
  const random = await createTransaction(command, { signer, block: { ...block, difficulty: 0 } });
  const bytes = Uint8Array.from(recorded.match(/../g), (digits) => Number.parseInt(digits, 16));
  return {
    keys: [signer.publicKey, signerFromSeed("0b".repeat(32)).publicKey],
    signature: tx.signature.value,
    nonce: String(tx.pow.nonce),
    hash: transactionHash(tx),
    opened: opened instanceof Promise ? (await opened).problems : opened.problems,
    long: { nonce: String(nonce), hash },
    isProof: verifyProofOfWork({ blockHash: HASH, tid: tx.pow.tid, difficulty: 10, nonce: tx.pow.nonce }),
    randomIds: random.pow.tid.length,
    recorded: transactionHash(fromBinary(TransactionSchema, bytes)),
    verified: signatures.map(([message, signature, key]) =>
      verifySignature(new TextEncoder().encode(message), signature, key),
    ),
  };
}
