import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type Client as ConnectClient } from "@connectrpc/connect";
import {
  type CheckTransactionResponse,
  type CoreService,
  type LastBlockHeightResponse,
  type SpamStatistics,
  SubmitTransactionRequest_Type,
  type SubmitTransactionRequestSchema,
} from "../../gen/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../gen/vega/commands/v1/transaction_pb.js";
import {
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
} from "../errors/index.js";
import { createBlockAllowance } from "./block-allowance.js";
import { type CommandSource, readCommand } from "./input-data.js";
import type { Signer } from "./signer.js";
import { createTransaction, type TransactionForm } from "./transaction.js";
import { withSignal } from "./with-signal.js";

/** How far a transaction has to come before the node answers. */
export type SubmissionType = "sync" | "async" | "commit";

/** The request of the submit operation (specification, 4.2). */
export type SubmitRequest = MessageInitShape<typeof SubmitTransactionRequestSchema>;

/** How to submit. */
export interface SubmitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether a transaction that the network refused is an error; true by default. */
  readonly throwOnRejection?: boolean | undefined;
}

/** How to make a transaction of a command. */
export interface SignCommandOptions extends TransactionForm {
  readonly signer: Signer;
  readonly signal?: AbortSignal | undefined;
}

/** How to make a transaction of a command, and submit it. */
export interface SendCommandOptions extends SignCommandOptions, SubmitOptions {
  /** How far it has to come before the node answers: `sync`, the default, is until it is in the mempool or refused. */
  readonly type?: SubmissionType | undefined;
}

/** A result, and the transaction that it is of. */
export interface SentCommand extends SubmissionResult {
  readonly transaction: Transaction;
}

/** Transactions of a node, over whichever transport. */
export interface Transactions {
  /**
   * Submit a signed transaction (specification, 4.2). It is sent once: never tried again, whatever happens.
   *
   * @throws {@link TransactionError} where the network refused it, unless `throwOnRejection` is false
   * @throws {@link OutcomeUnknownError} where it may have arrived, and no answer says whether it was taken
   */
  submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<SubmissionResult>;
  /**
   * Make a transaction of a command and submit it: check it, ask for the last block, sign, do the work, send it once.
   *
   * @throws {@link CommandError} where a field of the command is wrong; nothing was signed or sent then
   * @throws what {@link submitTransaction} throws
   *
   * @example
   * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
   */
  sendCommand(command: CommandSource, options: SendCommandOptions): Promise<SentCommand>;
  /** Make a transaction of a command, tied to the last block, as {@link sendCommand} does; it is not sent. */
  signCommand(command: CommandSource, options: SignCommandOptions): Promise<Transaction>;
  /** Have a node check a transaction as if it were submitted. */
  checkTransaction(
    tx: MessageInitShape<typeof TransactionSchema>,
    options?: Pick<SubmitOptions, "signal">,
  ): Promise<CheckTransactionResponse>;
  /** Get the last block, and the proof of work that transactions tied to it need. */
  lastBlockHeight(options?: Pick<SubmitOptions, "signal">): Promise<LastBlockHeightResponse>;
  /** Get how much of its allowances against spam a party, a public key in hex, has used up. */
  spamStatistics(publicKey: string, options?: Pick<SubmitOptions, "signal">): Promise<SpamStatistics | undefined>;
}

/**
 * The operations on transactions.
 *
 * @param service a client whose methods throw the library's errors
 */
export function createTransactions(service: ConnectClient<typeof CoreService>): Transactions {
  const allowance = createBlockAllowance(service);

  const transactions: Transactions = {
    async submitTransaction(request, { signal, throwOnRejection = true } = {}) {
      if (request.tx === undefined) {
        throw new RequestError("the request has no tx", {
          advice: "Give the signed transaction (specification, 4.2).",
        });
      }
      if (signal?.aborted === true) {
        throw new CanceledError({ cause: signal.reason });
      }
      const tx = create(TransactionSchema, request.tx);
      const response = await service
        .submitTransaction({ ...request, tx }, withSignal(signal))
        .catch((reason: unknown) => {
          throw reason instanceof TradewireError && mayHaveArrived(reason) ? unknownOutcome(tx, reason) : reason;
        });
      const { success, txHash, code, data, log, height } = response;
      const result = { success, txHash, code, data, log, height };
      if (!success && throwOnRejection) {
        throw new TransactionError(result);
      }
      return result;
    },

    async sendCommand(command, options) {
      const { type = "sync", signal, throwOnRejection } = options;
      const transaction = await transactions.signCommand(command, options);
      const request = { tx: transaction, type: submissionTypes[type] };
      return { ...(await transactions.submitTransaction(request, { signal, throwOnRejection })), transaction };
    },

    async signCommand(command, options) {
      readCommand(command); // A command that is wrong needs no node, and takes nothing out of an allowance.
      const block = await allowance.take(options.signer.publicKey, options.signal);
      return createTransaction(command, { ...options, block });
    },

    checkTransaction: (tx, { signal } = {}) =>
      service.checkTransaction({ tx: create(TransactionSchema, tx) }, withSignal(signal)),

    lastBlockHeight: ({ signal } = {}) => service.lastBlockHeight({}, withSignal(signal)),

    async spamStatistics(publicKey, { signal } = {}) {
      return (await service.getSpamStatistics({ partyId: publicKey }, withSignal(signal))).statistics;
    },
  };
  return transactions;
}

/** The submission types by their names here. */
export const submissionTypes: Readonly<Record<SubmissionType, SubmitTransactionRequest_Type>> = {
  sync: SubmitTransactionRequest_Type.SYNC,
  async: SubmitTransactionRequest_Type.ASYNC,
  commit: SubmitTransactionRequest_Type.COMMIT,
};

/** Whether a call that failed may have put its transaction into the mempool all the same. */
function mayHaveArrived(error: TradewireError): boolean {
  if (error instanceof ConnectionError) {
    return error.connected;
  }
  if (error instanceof NodeError) {
    // These say that the request was not taken; others may come from something in front of the node, or too late.
    return ![
      Code.InvalidArgument,
      Code.NotFound,
      Code.PermissionDenied,
      Code.Unauthenticated,
      Code.Unimplemented,
      Code.FailedPrecondition,
      Code.OutOfRange,
      Code.ResourceExhausted,
    ].includes(error.code);
  }
  return error instanceof ProtocolError || error instanceof CanceledError;
}

function unknownOutcome({ pow, from, signature }: Transaction, cause: TradewireError): OutcomeUnknownError {
  const identity: TransactionIdentity = {
    tid: pow?.tid ?? "",
    publicKey: from.case === "pubKey" ? from.value : "",
    signature: signature?.value ?? "",
  };
  const error = new OutcomeUnknownError(identity, cause);
  if (cause.transport !== undefined) {
    error.transport = cause.transport;
  }
  if (cause.method !== undefined) {
    error.method = cause.method;
  }
  return error;
}
