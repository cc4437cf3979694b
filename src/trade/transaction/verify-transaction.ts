import { TxVersion } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { type InputData, InputDataSchema, type Transaction } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { assertChainId, assertObject, invalidTypeError } from "../../base/input/assert.js";
import { tryDecode } from "../../base/input/decode.js";
import { commandProblems, type Problem } from "./check/index.js";
import { hasUnknownCommand } from "./input-data.js";
import type { BlockTask } from "./proof-of-work.js";
import { verify } from "./proof-of-work.js";
import type { ChainIdPrefix } from "./signature.js";
import { chainIdPrefixOf, SIGNATURE_ALGORITHM, SIGNATURE_VERSION, verifySignature } from "./signature.js";

/** The chain that a transaction is for. */
export interface Chain {
  readonly chainId: string;
  /**
   * Whether the prefix of input data is submitted along with it (the default) or only
   * signed.
   */
  readonly chainIdPrefix?: ChainIdPrefix | undefined;
}

/** The input data of a transaction that passed the checks, or the problems with it. */
export type OpenedTransaction =
  | { readonly inputData: InputData; readonly publicKey: string; readonly problems: readonly [] }
  | { readonly inputData?: undefined; readonly publicKey?: undefined; readonly problems: readonly Problem[] };

/**
 * Checks everything about a transaction that can be checked without a block: the same as `openTransaction`,
 * synchronously.
 *
 * @throws {@link RequestError} if `chain.chainId` is not a valid chain identifier
 */
export function openTransactionSync(tx: Transaction, chain: Chain): OpenedTransaction {
  assertObject("chain", chain);
  assertChainId("chainId", chain.chainId);
  assertObject("tx", tx);
  if (tx.$typeName !== "vega.commands.v1.Transaction") {
    throw invalidTypeError("tx", tx, "a result of signCommand() or create(TransactionSchema, ...)");
  }
  const { inputData, problems } = readInputData(tx, chain);
  const wrong = [...formProblems(tx), ...problems];
  if (wrong.length > 0 || inputData === undefined || tx.from.case !== "pubKey") {
    return { problems: wrong };
  }
  if (!verifySignature(signedMessage(tx, chain), tx.signature?.value ?? "", tx.from.value)) {
    const message = `must be a signature of tx.pubKey over tx.inputData${tx.version === TxVersion.V3 ? ` for chain ${chain.chainId}` : ""}`;
    return { problems: [{ path: "tx.signature.value", message }] };
  }
  if (inputData.nonce === 0n) {
    return { problems: [{ path: "tx.inputData.nonce", message: "must not be 0" }] };
  }
  return { inputData, publicKey: tx.from.value, problems: [] };
}

export function inputDataProblems(inputData: InputData): readonly Problem[] {
  const { command } = inputData;
  if (command.case !== undefined) {
    return commandProblems(command);
  }
  const message = hasUnknownCommand(inputData) ? "is of an unknown kind" : "is required";
  return [{ path: "tx.inputData.command", message }];
}

/**
 * Checks a transaction's proof of work.
 *
 * @throws {@link RequestError} if the hash function is unknown, or hash, tid or difficulty is invalid
 */
export function proofProblem(tx: Transaction, block: Omit<BlockTask, "chainId">): Problem | undefined {
  const { tid = "", nonce = 0n } = tx.pow ?? {};
  if (tid === "") {
    return { path: "tx.pow.tid", message: "is required" };
  }
  const { hash: blockHash, difficulty, hashFunction } = block;
  return verify({ blockHash, tid, difficulty, hashFunction, nonce })
    ? undefined
    : {
        path: "tx.pow.nonce",
        message: `must be a proof of work of difficulty ${difficulty} for tx.pow.tid and block ${block.height}`,
      };
}

/** The problems that can be found without reading the input data. */
function* formProblems({ version, from, signature }: Transaction): Generator<Problem> {
  if (!isKnownVersion({ version })) {
    yield {
      path: "tx.version",
      message: `must be TX_VERSION_V2 or TX_VERSION_V3 (got ${TxVersion[version] ?? version})`,
    };
  }
  if (from.case === "address") {
    yield { path: "tx.address", message: "is not supported: set tx.pubKey" };
  } else if (from.case === undefined || from.value === "") {
    yield { path: "tx.pubKey", message: "is required" };
  } else if (!/^[0-9a-f]{64}$/.test(from.value)) {
    yield { path: "tx.pubKey", message: "must be 64 lowercase hex digits" };
  }
  if (signature === undefined) {
    yield { path: "tx.signature", message: "is required" };
    return;
  }
  if (signature.algo !== SIGNATURE_ALGORITHM) {
    yield {
      path: "tx.signature.algo",
      message: `must be ${SIGNATURE_ALGORITHM} (got ${JSON.stringify(signature.algo)})`,
    };
  }
  if (signature.version !== SIGNATURE_VERSION) {
    yield { path: "tx.signature.version", message: `must be ${SIGNATURE_VERSION} (got ${signature.version})` };
  }
  if (!/^[0-9a-f]{128}$/i.test(signature.value)) {
    yield { path: "tx.signature.value", message: "must be 128 hex digits" };
  }
}

function isKnownVersion({ version }: Pick<Transaction, "version">): boolean {
  return version === TxVersion.V2 || version === TxVersion.V3;
}

function readInputData(
  tx: Transaction,
  { chainId, chainIdPrefix }: Chain,
): { readonly inputData?: InputData; readonly problems: readonly Problem[] } {
  const wrong = (message: string) => ({ problems: [{ path: "tx.inputData", message }] });
  if (tx.inputData.length === 0) {
    return wrong("is required");
  }
  if (!isKnownVersion(tx)) {
    return { problems: [] }; // The form of the input data depends on the version.
  }
  const prefix = chainIdPrefixOf(chainId);
  const isPrefixed = Buffer.from(prefix).equals(tx.inputData.subarray(0, prefix.length));
  const mustBePrefixed = tx.version === TxVersion.V3 && chainIdPrefix !== "signature-only";
  if (isPrefixed !== mustBePrefixed) {
    const rule = mustBePrefixed ? "must begin" : "must not begin, as it is submitted,";
    return wrong(`${rule} with the chain ID ${chainId} and a zero byte`);
  }
  const inputData = tryDecode(InputDataSchema, tx.inputData.subarray(isPrefixed ? prefix.length : 0));
  return inputData === undefined ? wrong("must be a serialized InputData") : { inputData, problems: [] };
}

function signedMessage({ version, inputData }: Transaction, { chainId, chainIdPrefix }: Chain): Uint8Array {
  return version === TxVersion.V3 && chainIdPrefix === "signature-only"
    ? Uint8Array.from([...chainIdPrefixOf(chainId), ...inputData])
    : inputData;
}
