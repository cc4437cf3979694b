import { type DescService, isMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import { TradingDataService } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import {
  CheckRawTransactionRequestSchema,
  CheckTransactionRequestSchema,
  CoreService,
  SubmitRawTransactionRequestSchema,
  SubmitTransactionRequestSchema,
} from "../../../gen/client/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import type { BatchMarketInstructions } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { Code } from "../../base/errors/code.js";
import { CommandError, ConnectionError, type TradewireError } from "../../base/errors/index.js";
import { tryDecode } from "../../base/input/decode.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import { readLastBlock } from "./block-allowance.js";
import { loadCommandCode } from "./command-code.js";
import type { LastKnownBlock, RecentBlocks } from "./recent-blocks.js";
import { sendMargin } from "./validity.js";

const { submitTransaction, submitRawTransaction, checkTransaction, checkRawTransaction } = CoreService.method;

/** The methods whose requests contain a transaction, by their full names. */
export const TRANSACTION_METHODS: readonly string[] = [
  submitTransaction,
  submitRawTransaction,
  checkTransaction,
  checkRawTransaction,
].map(({ name }) => `${CoreService.typeName}/${name}`);

/** The permission to send a transaction for a limited time. */
export interface Clearance {
  /** Returns whether it may still be sent; otherwise check it again. */
  isValid(): boolean;
}

/** How long the last known block is recent enough to determine how soon a transaction expires, in milliseconds. */
const FRESH_MS = 500;

/**
 * Determines whether a transaction, however it was signed, would permanently halt the network, or crash the node that checks it.
 *
 * @throws the error of a call that failed
 */
export async function haltingTransaction(
  request: unknown,
  clientOf: ServiceClients,
  recent: RecentBlocks,
  options: CallOptions,
): Promise<TradewireError | Clearance | undefined> {
  const transaction = carriedTransaction(request);
  if (transaction === undefined) {
    return undefined;
  }
  const { haltingProblem, readInputData, unknownParameterProblem } = await loadCommandCode();
  const inputData = readInputData(transaction);
  // A check does not execute the command: the check itself stops a node only at batches of proposals.
  if (inputData === undefined || (isCheck(request) && inputData.command.case !== "batchProposalSubmission")) {
    return undefined;
  }
  const { command } = inputData;
  const problem =
    haltingProblem(command) ?? (await unknownParameterProblem(command, (key) => hasParameter(clientOf, key, options)));
  return problem ? new CommandError([problem]) : soonExpired(inputData, clientOf, recent, options);
}

/**
 * Finds out whether a market may delay a transaction beyond its expiry: see {@link sendMargin}. If it may not, the time until it
 * is sent must not be too long either.
 */
async function soonExpired(
  { command, blockHeight }: InputData,
  clientOf: ServiceClients,
  recent: RecentBlocks,
  options: CallOptions,
): Promise<ConnectionError | Clearance | undefined> {
  if (!isDelayable(command)) {
    return undefined;
  }
  const leftAfter = ({ height, pastBlocks }: LastKnownBlock) => blockHeight + BigInt(pastBlocks) - height;
  const isInTime = (last: LastKnownBlock) =>
    leftAfter(last) - BigInt(last.laterBlocks) > BigInt(sendMargin(last.pastBlocks));
  const known = recent.last();
  // Followed blocks do not say how many past blocks the network takes.
  if (known === undefined || known.ageMs > FRESH_MS || known.pastBlocks === 0 || !isInTime(known)) {
    const problem = await readLastBlock(() => clientOf(CoreService).lastBlockHeight({}, options), recent).then(
      () => undefined,
      (reason: unknown) => (reason instanceof ConnectionError ? reason : undefinedIfAbsent(reason)),
    );
    if (problem !== undefined) {
      return problem;
    }
  }
  const last = recent.last();
  if (last === undefined) {
    return undefined; // The node does not offer the method.
  }
  const left = leftAfter(last);
  if (left <= 0n) {
    return undefined; // The network refuses what has expired already.
  }
  return left <= BigInt(sendMargin(last.pastBlocks))
    ? new ConnectionError(`the transaction expires in ${left} blocks, when a market may still be delaying it`, {
        code: Code.DeadlineExceeded,
        advice:
          "Sign the command again and send it immediately. Nothing was sent: such an order halts a v0.78.0 network.",
        connected: false,
      })
    : {
        isValid() {
          const now = recent.last();
          return now !== undefined && isInTime(now);
        },
      };
}

/** Whether a market with `enableTransactionReordering` executes a command a block later (v0.78.0, `prepareProposal`). */
function isDelayable(command: InputData["command"]): boolean {
  switch (command.case) {
    case "orderSubmission":
      return !command.value.postOnly;
    case "orderAmendment":
    case "stopOrdersSubmission":
    case "amendAmm":
      return true;
    case "batchMarketInstructions":
      return isDelayableBatch(command.value);
    default:
      return false;
  }
}

function isDelayableBatch({ submissions, amendments, stopOrdersSubmission }: BatchMarketInstructions): boolean {
  return amendments.length > 0 || stopOrdersSubmission.length > 0 || submissions.some(({ postOnly }) => !postOnly);
}

function isCheck(request: unknown): boolean {
  return isMessage(request, CheckTransactionRequestSchema) || isMessage(request, CheckRawTransactionRequestSchema);
}

function carriedTransaction(request: unknown): Transaction | undefined {
  if (isMessage(request, SubmitTransactionRequestSchema) || isMessage(request, CheckTransactionRequestSchema)) {
    return request.tx;
  }
  return isMessage(request, SubmitRawTransactionRequestSchema) || isMessage(request, CheckRawTransactionRequestSchema)
    ? tryDecode(TransactionSchema, request.tx)
    : undefined;
}

/** Creates a client of a service of the node. */
export type ServiceClients = <S extends DescService>(service: S) => ServiceClient<S>;

/** Codes of a node that does not have the parameter, or the method. */
const ABSENT: readonly unknown[] = [Code.NotFound, Code.Unimplemented];

/**
 * Returns whether a network has a parameter. The client asks both the data node and the core, because an endpoint may
 * have only one of them.
 *
 * @throws the error of a call that failed, unless the node lacks the parameter or the method
 */
export async function hasParameter(clientOf: ServiceClients, key: string, options: CallOptions): Promise<boolean> {
  const stored = await clientOf(TradingDataService).getNetworkParameter({ key }, options).catch(undefinedIfAbsent);
  if (stored !== undefined) {
    return true;
  }
  const { CoreStateService } = await loadCommandCode();
  const { listNetworkParameters } = clientOf(CoreStateService);
  const listed = await listNetworkParameters({ networkParameterKey: key }, options).catch(undefinedIfAbsent);
  return listed?.networkParameters.some((parameter) => parameter.key === key) ?? false;
}

function undefinedIfAbsent(reason: unknown): undefined {
  if (reason instanceof Error && "code" in reason && ABSENT.includes(reason.code)) {
    return undefined;
  }
  throw reason;
}
