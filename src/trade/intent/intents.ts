import { withCaller } from "../../base/errors/caller-stack.js";
import {
  assertFunction,
  assertKnownKeys,
  assertObject,
  assertOneOf,
  invalidValueError,
  requireMs,
} from "../../base/input/assert.js";
import { type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { lazily, startLoading } from "../../base/input/lazy.js";
import { snapshotData, withSnapshots } from "../../base/input/snapshot.js";
import { withJson } from "../../base/json-result.js";
import { linkedController, onAbort, raceAbort, withEnding } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import type { ObservedNode } from "../live/execution.js";
import { followBlocks } from "../live/follow-blocks.js";
import { loadSending } from "../live/outcomes.js";
import type { CommandSource } from "../transaction/input-data.js";
import { readSigner } from "../transaction/transaction.js";
import {
  type CommandPreparation,
  SIGNING_OPTIONS,
  type SigningOptions,
  type Transactions,
} from "../transaction/transactions.js";
import { VALIDITY_OPTIONS, type Validity, validateValidity } from "../transaction/validity.js";
import type { Journal } from "./journal.js";
import type { SettledIntent, WantedIntent } from "./settle.js";

/** The options of intents: the signer and the journal. */
export interface IntentsOptions extends SigningOptions {
  /** The journal of the intents; use a separate one for each key. */
  readonly journal: Journal;
}

/** The names of {@link IntentsOptions}. */
const INTENTS_OPTIONS = { ...SIGNING_OPTIONS, journal: true } as const satisfies {
  readonly [Key in keyof Required<IntentsOptions>]: true;
};

/** How to settle intents. */
export interface SettleOptions extends Pick<CallOptions, "signal"> {
  /** Total time limit, in milliseconds; 600000 by default. Intents that are not settled by then stay open. */
  readonly timeoutMs?: number | undefined;
}

/** The names of {@link SettleOptions}. */
const SETTLE_OPTIONS = { signal: true, timeoutMs: true } as const;

/** How to submit an intent. */
export interface SubmitIntentOptions extends SettleOptions, Validity {
  /** Identifies the intent in the journal: 1 to 200 characters. The same identifier repeats the same intent. */
  readonly id: string;
}

/** How to end an intent. */
export interface EndIntentOptions extends SettleOptions {
  /** How it ended, as you found it. */
  readonly status: "executed" | "failed";
}

/** An intent that was open. */
export type ResumedIntent =
  | SettledIntent
  /** It could not be settled, and stays open. */
  | { readonly id: string; readonly status: "open"; readonly error: unknown };

/**
 * Commands that are executed at most once, even if the program, the node or the connections fail.
 *
 * An intent is a command with an identifier. It is signed once, and written to the journal before it is sent. Until a block
 * or a node settles it, the same transaction is resent, and the network executes it at most once.
 */
export interface Intents extends AsyncDisposable {
  /**
   * Submits an intent, and waits until it has ended. If the journal has the identifier, it is the same intent: an open
   * one is settled, and one that has ended returns the same status.
   *
   * @param command the command by its name and fields, or serialized input data
   * @param options its identifier, in how many blocks it may be executed, a signal, and a time limit
   * @returns how it ended, with the evidence
   * @throws {@link CommandError} and {@link RequestError} if the command or an option is wrong, or the identifier is that of
   *   another command; nothing was sent then
   * @throws {@link OutcomeUnknownError} if it could not be settled in time; it stays open, for {@link resume} or the next call
   * @throws {@link CanceledError} if the signal was aborted; it stays open if it was sent
   *
   * @example
   * const { status } = await intents.submit(command, { id: "rebalance-17", validForBlocks: 20 });
   */
  submit(command: CommandSource, options: SubmitIntentOptions): Promise<SettledIntent>;
  /**
   * Settles all intents that are open in the journal, for example after a crash. Several are settled at a time.
   *
   * @param options a signal, and a time limit for each
   * @returns each intent, once it has ended or could not be settled
   *
   * @example
   * for await (const { id, status } of intents.resume()) console.log(id, status);
   */
  resume(options?: SettleOptions): AsyncIterable<ResumedIntent>;
  /**
   * Ends an open intent as you decide, once the network cannot execute it any more and no evidence shows its outcome. Evidence
   * is searched first, and takes precedence. Otherwise the evidence is `decision`.
   *
   * @param id the identifier of an intent in the journal
   * @param options how it ended, a signal, and a time limit
   * @returns how it ended: as decided, or according to the evidence
   * @throws {@link RequestError} if an option is wrong, or the intent is not in the journal;
   *   {@link OutcomeUnknownError} if evidence may still come; it stays open
   *
   * @example
   * await intents.end("cancel-17", { status: "executed" });
   */
  end(id: string, options: EndIntentOptions): Promise<SettledIntent>;
  /** Stops following blocks, and ends all waits. The journal stays open. */
  close(): void;
}

/** The services that send and observe intents. */
export interface IntentsServices {
  readonly transactions: Transactions & CommandPreparation;
  readonly node: ObservedNode;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

/** The maximum time to settle an intent by default, in milliseconds. */
const TIMEOUT_MS = 600_000;

/** How many open intents are settled at a time. */
const MAX_PARALLEL = 16;

/** The maximum length of an identifier, in characters. */
const MAX_ID = 200;

/** Loads all that signs, sends and settles intents. */
const loadSettling = lazily(async () => {
  const [settling] = await Promise.all([import("./settle.js"), loadSending()]);
  return settling;
});

/** Creates the operations on intents. Blocks are followed from now on: their hashes are needed for deadlines. */
export function createIntents(services: IntentsServices, options: IntentsOptions): Intents {
  assertObject("options", options);
  assertKnownKeys("options", options, INTENTS_OPTIONS);
  const { journal: given, signer, ...form } = options;
  const signing = { ...form, signer: readSigner(signer) };
  const journal = readJournal(given);
  const settlingServices = { ...services, journal, signing };
  const closing = linkedController(services.closing);
  const running = new Map<string, Promise<unknown>>();
  startLoading(loadSettling);
  onAbort(closing.signal, followBlocks(services.node.watch, closing.signal));

  async function settle(
    before: Promise<unknown>,
    wanted: WantedIntent,
    { signal, timeoutMs = TIMEOUT_MS }: SettleOptions,
  ): Promise<SettledIntent> {
    throwIfAborted(closing.signal);
    return withEnding(timeoutMs, [signal, closing.signal], async (ending) => {
      const { settleIntent } = await loadSettling();
      await raceAbort(before, ending.signal).catch(() => undefined); // What follows ends with the signal.
      return settleIntent(settlingServices, wanted, ending.signal);
    });
  }

  /**
   * Settles an intent after earlier calls in this process that settle it: concurrent calls could not tell whose answer counts.
   */
  function settleInTurn(wanted: WantedIntent, settleOptions: SettleOptions): Promise<SettledIntent> {
    const { id } = wanted;
    const before = running.get(id) ?? Promise.resolve();
    const settling = settle(before, wanted, settleOptions);
    const turn = Promise.allSettled([before, settling]).then(() => {
      if (running.get(id) === turn) {
        running.delete(id);
      }
    });
    running.set(id, turn);
    return settling;
  }

  return withSnapshots<Intents>({
    submit: (given, submitOptions) =>
      withCaller(async () => {
        const command = snapshotData(given);
        assertKnownKeys("options", submitOptions, { ...SETTLE_OPTIONS, ...VALIDITY_OPTIONS, id: true });
        const { id, validForBlocks, validForMs, ...settleOptions } = submitOptions;
        validateId(id);
        validateValidity({ validForBlocks, validForMs });
        validateSettleOptions(settleOptions);
        const { commandOfIntent } = await loadSettling();
        const bytes = commandOfIntent(command);
        return settleInTurn({ id, command: bytes, validity: { validForBlocks, validForMs } }, settleOptions);
      }),

    async *resume(settleOptions = {}) {
      validateSettleOptions(settleOptions);
      const waiting = (await journal.open()).filter((id) => !running.has(id));
      const settling = new Map<string, Promise<ResumedIntent>>();
      const ending = linkedController(settleOptions.signal);
      try {
        for (let next = 0; next < waiting.length || settling.size > 0; ) {
          const id = settling.size < MAX_PARALLEL ? waiting[next] : undefined;
          if (id === undefined) {
            const ended = await Promise.race(settling.values());
            settling.delete(ended.id);
            yield ended;
          } else {
            const wanted = { id, command: undefined, validity: {} };
            settling.set(id, resumed(id, settleInTurn(wanted, { ...settleOptions, signal: ending.signal })));
            next += 1;
          }
        }
      } finally {
        ending.abort(new DOMException("the wait was canceled", "AbortError"));
      }
    },

    end: (id, endOptions) =>
      withCaller(async () => {
        assertKnownKeys("options", endOptions, { ...SETTLE_OPTIONS, status: true });
        const { status, ...settleOptions } = endOptions;
        validateId(id);
        assertOneOf("status", status, ["executed", "failed"]);
        validateSettleOptions(settleOptions);
        return settleInTurn({ id, command: undefined, validity: {}, decision: status }, settleOptions);
      }),

    close,
    [Symbol.asyncDispose]: async () => close(),
  });

  function close(): void {
    closing.abort(new DOMException("the intents were closed", "AbortError"));
  }
}

/** Reads the methods of a journal, once: nobody can exchange them later. */
function readJournal(journal: Journal): Pick<Journal, "read" | "append" | "open"> {
  assertObject("journal", journal);
  const { read, append, open } = journal;
  for (const [name, method] of Object.entries({ read, append, open })) {
    assertFunction(`journal.${name}`, method);
  }
  return {
    read: (...given) => read.apply(journal, given),
    append: (...given) => append.apply(journal, given),
    open: (...given) => open.apply(journal, given),
  };
}

async function resumed(id: string, settling: Promise<SettledIntent>): Promise<ResumedIntent> {
  try {
    return withJson(await settling);
  } catch (error) {
    return { id, status: "open", error };
  }
}

function validateId(id: unknown): asserts id is string {
  // A lone surrogate has no form in UTF-8, so that several identifiers would become one.
  if (typeof id !== "string" || id.length === 0 || id.length > MAX_ID || /[\p{Cc}\p{Cs}]/u.test(id)) {
    throw invalidValueError("id", id, `1 to ${MAX_ID} characters, without control characters and lone surrogates`);
  }
}

function validateSettleOptions(options: SettleOptions): void {
  assertKnownKeys("options", options, SETTLE_OPTIONS);
  validateCallOptions(options);
  if (options.timeoutMs !== undefined) {
    requireMs("timeoutMs", options.timeoutMs);
  }
}
