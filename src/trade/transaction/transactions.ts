import { create } from "@bufbuild/protobuf";
import type { Client as ConnectClient, CallOptions as ConnectOptions } from "@connectrpc/connect";
import type {
  CheckTransactionResponse,
  CoreService,
  LastBlockHeightResponse,
  SpamStatistics,
} from "../../../gen/client/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { CommandError, OutcomeUnknownError, TransactionError } from "../../base/errors/index.js";
import { assertKnownKeys, assertOneOf, assertText } from "../../base/input/assert.js";
import {
  CALL_OPTIONS,
  type CallOptions,
  parseCallOptions,
  toConnectOptions,
  validateCallOptions,
} from "../../base/input/call-options.js";
import type { InitOf } from "../../base/input/init.js";
import { parseMessageInit } from "../../base/input/message-init.js";
import { snapshotData } from "../../base/input/snapshot.js";
import { setBounded } from "../../base/signal/collections.js";
import { createTurns } from "../../base/signal/turns.js";
import { createBlockAllowance, readLastBlock, type Share, type ShortestValidity } from "./block-allowance.js";
import { loadCommandCode } from "./command-code.js";
import { withTimeout } from "./deadline.js";
import { hasParameter, type ServiceClients } from "./halting-transaction.js";
import type { CommandSource } from "./input-data.js";
import type { RecentBlocks } from "./recent-blocks.js";
import type { Signer } from "./signer.js";
import { type ChainSettings, namedChain, requireChain } from "./signing-chain.js";
import {
  type Submission,
  type SubmissionType,
  type SubmitOptions,
  type SubmitRequest,
  submissionTypes,
  submitOnce,
} from "./submission.js";
import { createTransaction, FORM_OPTIONS, MAX_DIFFICULTY, readSigner, type TransactionForm } from "./transaction.js";
import { VALIDITY_OPTIONS, type Validity, validateValidity } from "./validity.js";

/** How to create a signed transaction from a command. */
export interface SignCommandOptions extends TransactionForm, Validity, CallOptions {
  readonly signer: Signer;
  /** The chain to sign for; by default the configured chain. A node on another chain is rejected. */
  readonly chainId?: string | undefined;
  /** Total time limit, in milliseconds; 120000 by default. */
  readonly timeoutMs?: number | undefined;
}

/** The names of the options of who signs several transactions, for which chain, and in which form. */
export const SIGNING_OPTIONS = {
  signer: true,
  chainId: true,
  chainIdPrefix: true,
  maxDifficulty: true,
  version: true,
} as const;

export type SigningOptions = Pick<SignCommandOptions, keyof typeof SIGNING_OPTIONS>;

/** How to create a transaction from a command, and submit it. */
export interface SendCommandOptions extends SignCommandOptions, Pick<SubmitOptions, "throwOnRejection"> {
  /**
   * When the node replies: `sync` (after its check), `async` (immediately) or `commit` (after the block). With `sync`,
   * the default, it is in the mempool or refused.
   */
  readonly type?: SubmissionType | undefined;
}

/** The names of {@link SignCommandOptions}. */
export const SIGN_OPTIONS = {
  ...CALL_OPTIONS,
  ...FORM_OPTIONS,
  ...VALIDITY_OPTIONS,
  signer: true,
  chainId: true,
} as const;

/** The names of {@link SendCommandOptions}. */
const SEND_OPTIONS = { ...SIGN_OPTIONS, type: true, throwOnRejection: true } as const;

/**
 * The total time limit of a transaction, in milliseconds: a minute to wait for a block, compute the proof of work, and make the
 * calls.
 */
export const TIMEOUT_MS = 120_000;

/** The result of a submission, and the transaction that was submitted. */
export interface SentCommand extends Submission {
  readonly transaction: Transaction;
}

/** A transaction that was created and not sent yet, and its share of the block's allowance. */
interface PreparedCommand extends Share {
  readonly transaction: Transaction;
  /** Sends it. Call it only once. If it was not accepted, its share of the allowance is given back. */
  submit(options: SubmitOptions & Pick<SendCommandOptions, "type">): Promise<Submission>;
}

type PrepareOptions = Omit<SignCommandOptions, keyof Validity> &
  (Validity | ShortestValidity) & {
    /** Whether it is created at once, though others of the key wait for their turn. */
    readonly isUrgent?: boolean;
  };

/** Creates and sends transactions in two steps. */
export interface CommandPreparation {
  /** Creates a signed transaction from a command, to be submitted later. It throws the same errors as `signCommand`. */
  prepare(command: CommandSource, options: PrepareOptions, signal: AbortSignal): Promise<PreparedCommand>;
  /**
   * Reads the height of the node's last block, and repeats the request until the response is accepted.
   *
   * @throws {@link RequestError} if the node is on another chain
   */
  lastHeight(chainId: string, signal: AbortSignal): Promise<bigint>;
}

/**
 * The operations of a node on transactions, over any transport.
 *
 * Besides the errors named below, every method may throw {@link NodeError} if the node responds with an error,
 * {@link ConnectionError} if it is unreachable or the connection is lost, {@link ProtocolError} if its response breaks the
 * rules of the interface, and {@link CanceledError} if the signal was aborted.
 */
export interface Transactions {
  /**
   * Submits a signed transaction. It is sent once and never retried.
   *
   * @param request the transaction, and when the node replies
   * @param options a signal, headers, a time limit, and whether a refusal is thrown
   * @returns the submission result; on success the transaction is in the mempool
   * @throws {@link RequestError} if the request has no `tx`
   * @throws {@link TransactionError} if the network refused it, unless `throwOnRejection` is false
   * @throws {@link OutcomeUnknownError} if it may have arrived, but no response says whether it was accepted
   * @throws {@link ConnectionError} with `DEADLINE_EXCEEDED` if it is an order that expires in a few blocks, which may stop a
   *   network of v0.78.0; nothing was sent
   *
   * @example
   * const tx = await client.signCommand(command, { signer });
   * const { txHash } = await client.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC });
   */
  submitTransaction(request: SubmitRequest, options?: SubmitOptions): Promise<Submission>;
  /**
   * Creates a transaction from a command and submits it. The command is checked, tied to the last block, signed and sent
   * once, with a proof of work.
   *
   * @param command the command by its name and fields, or serialized input data
   * @param options the signer, the transaction's form, and how to submit it
   * @returns the submission result, and the transaction
   * @throws {@link CommandError} and {@link RequestError} as {@link signCommand} does; nothing was sent then
   * @throws {@link TransactionError} and {@link OutcomeUnknownError} as {@link submitTransaction} does; an
   *   `OutcomeUnknownError` also if `timeoutMs` passes after it was sent
   *
   * @example
   * const { txHash } = await client.sendCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
   */
  sendCommand(command: CommandSource, options: SendCommandOptions): Promise<SentCommand>;
  /**
   * Creates a signed transaction from a command, tied to the last block. It is not sent. If the key has used up the last block's
   * allowance, this waits for the next block, for at most a minute.
   *
   * @param command the command by its name and fields, or serialized input data
   * @param options the signer, and the transaction's form
   * @returns the transaction, with its proof of work
   * @throws {@link CommandError} if a field of the command is wrong; nothing was signed then
   * @throws {@link RequestError} if another option is invalid, the node is on a different chain than the configured one, no
   *   chain is configured for a node that is not on loopback, the node requires more than `maxDifficulty`, the
   *   signature is invalid, the key is banned, or no new block appears
   * @throws {@link ConnectionError} with `DEADLINE_EXCEEDED` if it is not created within `timeoutMs`
   *
   * @example
   * const tx = await client.signCommand({ case: "stopOrdersCancellation", value: {} }, { signer });
   */
  signCommand(command: CommandSource, options: SignCommandOptions): Promise<Transaction>;
  /**
   * Asks the node to check a transaction as if it were submitted.
   *
   * **A check uses up the transaction until the next block**: deployed nodes remember the `tid` that they have checked,
   * and refuse the same transaction when it is submitted before the next block (`proof of work tid already seen by the
   * node`; v0.78.0, `core/pow/engine.go`). Sign the command again to submit it.
   *
   * @param tx the signed transaction
   * @param options a signal, headers and a time limit
   * @returns the node's verdict; a refusal is not thrown
   *
   * @example
   * const { success, data } = await client.checkTransaction(tx);
   */
  checkTransaction(tx: InitOf<typeof TransactionSchema>, options?: CallOptions): Promise<CheckTransactionResponse>;
  /**
   * Returns the last block, and the proof of work that transactions tied to it need.
   *
   * @param options a signal, headers and a time limit
   * @returns height, hash (64 hex digits) and chain id, and the difficulty in zero bits
   *
   * @example
   * const { height, chainId } = await client.lastBlockHeight();
   */
  lastBlockHeight(options?: CallOptions): Promise<LastBlockHeightResponse>;
  /**
   * Returns how much of its spam allowances a party has used.
   *
   * @param publicKey the party's public key, 64 hex digits
   * @param options a signal, headers and a time limit
   * @returns the statistics; `undefined` if the response contains none
   *
   * @example
   * const statistics = await client.spamStatistics(signer.publicKey);
   */
  spamStatistics(publicKey: string, options?: CallOptions): Promise<SpamStatistics | undefined>;
}

/** What a caller wants to sign, and how: nobody else can change it. */
export interface Sendable<T> {
  readonly command: CommandSource;
  readonly options: T;
}

/**
 * Reads a command and its signer, once and before anything is awaited, and checks them without a request to the node.
 *
 * @throws {@link CommandError} if a field of the command is wrong, {@link RequestError} if something else is
 */
export async function readSendable<T extends SignCommandOptions>(
  given: CommandSource,
  options: T,
  known: { readonly [Key in keyof Required<T>]: true },
): Promise<Sendable<T>> {
  const command = snapshotData(given);
  assertKnownKeys("options", options, known);
  validateCallOptions(options);
  validateValidity(options);
  const { type, throwOnRejection }: Partial<SendCommandOptions> = options;
  const signer = readSigner(options.signer);
  assertOneOf("throwOnRejection", throwOnRejection, [true, false]);
  assertOneOf("type", type, ["sync", "async", "commit"]);
  const { readCommand } = await loadCommandCode();
  readCommand(command);
  return { command, options: { ...options, signer } };
}

/**
 * How many transactions of a key are created at a time. Once one is tied to a block its time runs out, so the others wait until
 * it is on its way.
 */
const MAX_IN_MAKING = 8;

/** How long they keep others waiting, in milliseconds: a signer may not answer, or a block may not come. */
const MAX_MAKING_MS = 5_000;

/** How many transactions are remembered, to explain the refusal of one that is submitted afterwards. */
const MAX_REMEMBERED = 10_000;

/** Remembers by their `tid` which transactions this client had the node check, and which it submitted. */
function createSeenTids() {
  const tids = new Map<string, "checked" | "submitted">();
  return {
    checked({ pow }: Transaction): void {
      if (pow !== undefined && !tids.has(pow.tid)) {
        setBounded(tids, pow.tid, "checked", MAX_REMEMBERED);
      }
    },
    /** Records that a transaction is submitted; returns whether it was only checked before. */
    submitted({ pow }: Transaction): boolean {
      const before = pow === undefined ? undefined : tids.get(pow.tid);
      if (pow !== undefined) {
        setBounded(tids, pow.tid, "submitted", MAX_REMEMBERED);
      }
      return before === "checked";
    },
  };
}

export function createTransactions(
  service: ConnectClient<typeof CoreService>,
  settings: ChainSettings &
    Pick<TransactionForm, "chainIdPrefix"> & {
      readonly serviceClient: ServiceClients;
      readonly recentBlocks: RecentBlocks;
    },
): Transactions & CommandPreparation {
  const allowance = createBlockAllowance(service, settings.recentBlocks);
  const turns = createTurns(MAX_IN_MAKING, MAX_MAKING_MS);
  const seen = createSeenTids();

  async function requireKnownParameters(command: InputData["command"], callOptions: ConnectOptions): Promise<void> {
    const { unknownParameterProblem } = await loadCommandCode();
    const problem = await unknownParameterProblem(command, (key) =>
      hasParameter(settings.serviceClient, key, callOptions),
    );
    if (problem !== undefined) {
      throw new CommandError([problem]);
    }
  }

  async function prepare(command: CommandSource, options: PrepareOptions, signal: AbortSignal) {
    const { readCommand } = await loadCommandCode();
    const { command: read } = readCommand(command); // A wrong command must not use up a part of the allowance.
    await requireKnownParameters(read, toConnectOptions({ headers: options.headers, signal }));
    const { signer, maxDifficulty = MAX_DIFFICULTY, headers, version, tid, nonce } = options;
    const chainIdPrefix = options.chainIdPrefix ?? settings.chainIdPrefix;
    const form = { signer, maxDifficulty, version, tid, nonce, chainIdPrefix };
    const chainId = namedChain(options.chainId, settings);
    const validity =
      "aboutMs" in options
        ? { aboutMs: options.aboutMs }
        : { validForBlocks: options.validForBlocks, validForMs: options.validForMs };
    const { publicKey } = signer;
    const takeShare = signer.takeShare?.bind(signer);
    const taking = { publicKey, takeShare, chainId, maxDifficulty, headers, signal, ...validity };
    const make = async () => {
      const share = await allowance.take(taking);
      try {
        return { share, transaction: await createTransaction(command, { ...form, block: share.block, signal }) };
      } catch (reason) {
        share.giveBack();
        throw reason;
      }
    };
    const { share, transaction } = await (options.isUrgent === true ? make() : turns.run(publicKey, signal, make));
    return {
      ...share,
      transaction,
      submit({ type = "sync", ...submitOptions }: Parameters<PreparedCommand["submit"]>[0]) {
        const request = { tx: transaction, type: submissionTypes[type] };
        const known = { wasChecked: seen.submitted, isFirst: true };
        return submitOnce(service, request, { headers, ...submitOptions }, known).catch((reason: unknown) => {
          if (!(reason instanceof OutcomeUnknownError || reason instanceof TransactionError)) {
            share.giveBack();
          }
          throw reason;
        });
      },
    };
  }

  return {
    prepare,

    async lastHeight(chainId, signal) {
      const { height } = await readLastBlock(async () => {
        const last = await service.lastBlockHeight({}, toConnectOptions({ signal }));
        requireChain(last.chainId, chainId);
        return last;
      }, settings.recentBlocks);
      return height;
    },

    submitTransaction: (request, options = {}) => submitOnce(service, request, options, { wasChecked: seen.submitted }),

    async sendCommand(given, givenOptions) {
      const { command, options } = await readSendable(given, givenOptions, SEND_OPTIONS);
      const { type, throwOnRejection, timeoutMs = TIMEOUT_MS } = options;
      return withTimeout(timeoutMs, options.signal, async (signal) => {
        const { transaction, submit } = await prepare(command, options, signal);
        return { ...(await submit({ type, signal, throwOnRejection })), transaction };
      });
    },

    async signCommand(given, givenOptions) {
      const { command, options } = await readSendable(given, givenOptions, SIGN_OPTIONS);
      const { timeoutMs = TIMEOUT_MS } = options;
      return withTimeout(
        timeoutMs,
        options.signal,
        async (signal) => (await prepare(command, options, signal)).transaction,
      );
    },

    async checkTransaction(tx, options) {
      const transaction = create(TransactionSchema, parseMessageInit(TransactionSchema, tx, "tx"));
      const response = await service.checkTransaction({ tx: transaction }, parseCallOptions(options));
      if (response.success) {
        seen.checked(transaction); // A refusal may be due to an earlier submission.
      }
      return response;
    },

    async lastBlockHeight(options) {
      const last = await service.lastBlockHeight({}, parseCallOptions(options));
      settings.recentBlocks.add(last);
      return last;
    },

    async spamStatistics(publicKey, options) {
      assertText("publicKey", publicKey, "64 hex digits");
      return (await service.getSpamStatistics({ partyId: publicKey }, parseCallOptions(options))).statistics;
    },
  };
}
