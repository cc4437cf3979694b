import { create } from "@bufbuild/protobuf";
import type { Client as ConnectClient } from "@connectrpc/connect";
import {
  type CoreService,
  SubmitTransactionRequest_Type,
  SubmitTransactionRequestSchema,
} from "../../../gen/client/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { inconclusiveSubmission, responseError } from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import {
  BannedError,
  CanceledError,
  ConnectionError,
  NodeError,
  OutcomeUnknownError,
  ProtocolError,
  RequestError,
  type SubmissionResult,
  TradewireError,
  TransactionError,
  type TransactionIdentity,
} from "../../base/errors/index.js";
import { isRefusalCode } from "../../base/errors/transaction-errors.js";
import { assertKnownKeys, assertOneOf } from "../../base/input/assert.js";
import {
  CALL_OPTIONS,
  type CallOptions,
  toConnectOptions,
  validateCallOptions,
} from "../../base/input/call-options.js";
import type { InitOf } from "../../base/input/init.js";
import { parseMessageInit } from "../../base/input/message-init.js";
import { loadCommandCode } from "./command-code.js";
import { submittedPrefix, transactionHash } from "./signature.js";

/**
 * When the node replies to a submission: `sync` (after its check), `async` (immediately) or `commit` (after the block).
 */
export type SubmissionType = "sync" | "async" | "commit";

/** The request of the submit operation. */
export type SubmitRequest = InitOf<typeof SubmitTransactionRequestSchema>;

/** How to submit a transaction. */
export interface SubmitOptions extends CallOptions {
  /** Whether a refusal is thrown as an error; true by default. */
  readonly throwOnRejection?: boolean | undefined;
}

/** The names of {@link SubmitOptions}. */
const SUBMIT_OPTIONS = { ...CALL_OPTIONS, throwOnRejection: true } as const;

/** The enum values of the submission types. */
export const submissionTypes: Readonly<Record<SubmissionType, SubmitTransactionRequest_Type>> = {
  sync: SubmitTransactionRequest_Type.SYNC,
  async: SubmitTransactionRequest_Type.ASYNC,
  commit: SubmitTransactionRequest_Type.COMMIT,
};

/** The result of a submission. */
export interface Submission extends SubmissionResult {
  /**
   * The hash that this client computed: 64 hex digits in upper case. The node's `txHash` identifies the transaction; if
   * the two differ, the node serializes transactions differently.
   */
  readonly computedTxHash: string;
}

interface KnownSubmission {
  /** Called before it is sent; returns whether this client asked the node to check it before, without submitting it. */
  readonly wasChecked?: ((tx: Transaction) => boolean) | undefined;
  /** Whether it was signed just now and had not been sent before. */
  readonly isFirst?: boolean | undefined;
}

/**
 * Submits a signed transaction exactly once.
 *
 * @throws {@link OutcomeUnknownError} if it may have arrived and the response is neither a success nor a known refusal;
 *   after any other error except a {@link TransactionError}, it was not accepted
 */
export async function submitOnce(
  service: Pick<ConnectClient<typeof CoreService>, "submitTransaction">,
  request: SubmitRequest,
  options: SubmitOptions,
  { wasChecked, isFirst }: KnownSubmission = {},
): Promise<Submission> {
  assertKnownKeys("options", options, SUBMIT_OPTIONS);
  validateCallOptions(options);
  const { signal, throwOnRejection = true } = options;
  assertOneOf("throwOnRejection", throwOnRejection, [true, false]);
  const checked = readSubmission(request);
  const { tx } = checked;
  if (signal?.aborted === true) {
    throw new CanceledError({ cause: signal.reason, mayHaveBeenSent: false });
  }
  await loadCommandCode(); // The error of an unknown outcome needs it.
  const isOnlyChecked = wasChecked?.(tx);
  const response = await service
    .submitTransaction(checked, toConnectOptions(options))
    .catch(async (reason: unknown) => {
      throw reason instanceof TradewireError && mayHaveArrived(reason) ? await unknownOutcome(tx, reason) : reason;
    });
  const { success, txHash, code, data, log, height } = response;
  const result = { success, txHash, code, data, log, height };
  if (!success && !isRefusalCode(code)) {
    throw await unknownOutcome(tx, responseError(inconclusiveSubmission(result)));
  }
  if (!success && throwOnRejection) {
    throw new TransactionError(result, {
      isPrefixed: submittedPrefix(tx.inputData) !== "",
      wasChecked: isOnlyChecked,
      isFirst,
    });
  }
  return { ...result, computedTxHash: transactionHash(tx) };
}

/**
 * Validates a request to submit a transaction.
 *
 * @throws {@link RequestError} if it has no transaction, a field does not exist, or a value does not fit its field
 */
export function readSubmission(request: SubmitRequest) {
  const checked = parseMessageInit(SubmitTransactionRequestSchema, request);
  if (checked.tx === undefined) {
    throw new RequestError("tx is required", {
      advice: "Set it to the signed transaction.",
    });
  }
  return { ...checked, tx: create(TransactionSchema, checked.tx) };
}

/** Returns whether a failed call may still have put its transaction into the mempool. */
function mayHaveArrived(error: TradewireError): boolean {
  if (error instanceof ConnectionError) {
    return error.connected;
  }
  if (error instanceof NodeError) {
    // With these codes the node itself refuses a request. Others may come after it was accepted, and a status that is not
    // the node's own may come from something in front of it that has passed the request on.
    const refusals = [
      Code.InvalidArgument,
      Code.NotFound,
      Code.PermissionDenied,
      Code.Unauthenticated,
      Code.Unimplemented,
      Code.FailedPrecondition,
      Code.OutOfRange,
      Code.ResourceExhausted,
    ];
    return !error.isRefusal || !refusals.includes(error.code);
  }
  if (error instanceof BannedError) {
    return !error.isRefusal;
  }
  return error instanceof CanceledError ? error.mayHaveBeenSent : error instanceof ProtocolError;
}

/** Creates the error for a transaction that may or may not have been accepted. */
export async function unknownOutcome(tx: Transaction, cause: TradewireError): Promise<OutcomeUnknownError> {
  const { readInputData } = await loadCommandCode();
  const command = readInputData(tx)?.command.case;
  const { pow, from, signature } = tx;
  const identity: TransactionIdentity = {
    txHash: transactionHash(tx),
    tid: pow?.tid ?? "",
    publicKey: from.case === "pubKey" ? from.value : "",
    signature: signature?.value ?? "",
    ...(command && { command }),
  };
  return Object.assign(new OutcomeUnknownError(identity, cause, tx), {
    transport: cause.transport,
    method: cause.method,
  });
}
