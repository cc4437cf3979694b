import { toBinary } from "@bufbuild/protobuf";
import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../../gen/vega/api/v1/core_pb.js";
import { type InputData, InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { CommandError, PolicyError, RequestError, TradewireError } from "../../base/errors/index.js";
import { invalidTypeError, isBytes } from "../../base/input/assert.js";
import { tryDecode } from "../../base/input/decode.js";
import { snapshotData, withSnapshots } from "../../base/input/snapshot.js";
import { linkedController, withEnding } from "../../base/signal/abort.js";
import { wait } from "../../base/signal/wait.js";
import { commandProblems } from "../transaction/check/index.js";
import { commandIdentifiers } from "../transaction/command-identifiers.js";
import { encodeHex, sha3 } from "../transaction/crypto.js";
import { readCommand } from "../transaction/input-data.js";
import { chainIdPrefixOf } from "../transaction/signature.js";
import { type Effects, evaluate } from "./evaluate.js";
import type { MarketRules, SignedTransaction, UnseenPart } from "./guard-state.js";
import { type Guard, type GuardServices, type GuardSettings, validateMode } from "./guard-types.js";
import { killSwitch } from "./kill.js";
import { createLedger, momentNow } from "./ledger.js";
import { createPolicyMarkets } from "./market-rules.js";
import { lookAtNode, type ObservedCalls } from "./observe-node.js";

/** The time between two looks at the node, in milliseconds. */
const LOOK_EVERY_MS = 500;
/** The maximum time of one look, in milliseconds. */
const LOOK_MS = 10_000;

export async function keepGuard(
  services: GuardServices,
  { signer, policy, chainId }: GuardSettings,
  starting: AbortSignal,
): Promise<Guard> {
  const { publicKey } = signer;
  const closing = linkedController(services.closing);
  const markets = createPolicyMarkets(policy, services.marketUnits);
  const calls: ObservedCalls = {
    data: services.service(TradingDataService),
    core: services.service(CoreService),
    records: services.records,
    lastBlockHeight: services.transactions.lastBlockHeight,
  };
  const look = async (signed: () => readonly SignedTransaction[], signal: AbortSignal) => {
    const startedAt = momentNow();
    return { shown: await lookAtNode(calls, publicKey, signed, signal), startedAt };
  };

  await markets.loadNamed(starting);
  const first = await look(() => [], starting);
  const ledger = createLedger(policy.mode, first.shown, first.startedAt);

  async function lookAgain(signal?: AbortSignal): Promise<void> {
    try {
      await withEnding(LOOK_MS, [closing.signal, signal], async (ending) => {
        const { shown, startedAt } = await look(ledger.signed, ending.signal);
        ledger.observe(shown, startedAt);
      });
    } catch (reason) {
      ledger.miss(reason instanceof TradewireError ? reason.summary : "the call failed");
    }
  }

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      await wait(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) {
        await lookAgain();
      }
    }
  }

  function judge(command: InputData["command"], rules: ReadonlyMap<string, MarketRules>): Effects {
    requireOpen(closing.signal);
    return evaluate(command, { policy, rules, ...ledger.situation() });
  }

  const guard: Guard = withSnapshots<Guard>({
    publicKey,
    get mode() {
      return ledger.mode;
    },
    setMode(next) {
      validateMode(next);
      ledger.setMode(next);
    },
    async sign(message) {
      if (!isBytes(message)) {
        throw invalidTypeError("message", message, "the bytes to sign");
      }
      requireOpen(closing.signal);
      const bytes = Uint8Array.from(message); // Nobody can change them between the check and the signature.
      const inputData = readMessage(bytes, chainId);
      const digest = encodeHex(sha3(bytes));
      const rules = await markets.rulesFor(inputData.command, closing.signal);
      if (ledger.isCounted(digest)) {
        return signer.sign(bytes);
      }
      // Nothing may be awaited between the check and the count.
      const effects = judge(inputData.command, rules);
      ledger.count(digest, inputData, effects);
      // If the signer fails, what it was to sign stays counted: it may have signed.
      const signature = await signer.sign(bytes);
      nameParts(effects.parts, inputData.command, signature);
      return signature;
    },
    ...(signer.takeShare !== undefined && { takeShare: (block) => signer.takeShare?.(block) }),
    async check(command) {
      const { command: checked } = readCommand(snapshotData(command));
      judge(checked, await markets.rulesFor(checked, closing.signal));
    },
    async kill(options = {}) {
      ledger.setMode("halted");
      requireOpen(closing.signal);
      return killSwitch({
        options,
        closing: closing.signal,
        cancel: (command, signal) => services.sendUrgently(command, { signer, chainId, signal, until: "executed" }),
        records: services.records,
        publicKey,
        look: lookAgain,
        seenTime: () => ledger.time,
        unseen: () => ledger.unseen().filter(({ kind }) => kind !== "amendment").length,
        coreTime: async (signal) => (await calls.core.getVegaTime({}, { signal })).timestamp,
        dataNodeTime: async (signal) => (await calls.data.getVegaTime({}, { signal })).timestamp,
      });
    },
    close,
    [Symbol.asyncDispose]: async () => close(),
  });

  function close(): void {
    closing.abort(new DOMException("the guard was closed", "AbortError"));
  }

  void keepLooking();
  return Object.freeze(guard);
}

/** Gives the parts of a transaction their identifiers, which are derived from its signature. */
function nameParts(parts: readonly UnseenPart[], command: InputData["command"], signature: Uint8Array): void {
  const { submissions, stopOrders } = commandIdentifiers(command, signature);
  for (const part of parts) {
    if (part.kind === "order") {
      part.id = submissions[part.index];
    } else if (part.kind === "stopOrder") {
      part.id = stopOrders[part.index]?.[part.half];
    }
  }
}

function requireOpen(closing: AbortSignal): void {
  if (closing.aborted) {
    throw new RequestError("the guard was closed", { advice: "Sign before close(). Nothing was signed." });
  }
}

/**
 * Reads a message to sign. Only bytes are accepted that the library itself would serialize for the same command, so
 * that nothing can be hidden in unknown or repeated fields.
 *
 * @throws {@link PolicyError} if it cannot be read, or is for another chain
 * @throws {@link CommandError} if the command is wrong
 */
function readMessage(message: Uint8Array, chainId: string): InputData {
  const prefix = chainIdPrefixOf(chainId);
  if (!Buffer.from(prefix).equals(message.subarray(0, prefix.length))) {
    const what = `the message does not begin with the chain ID ${chainId}`;
    throw refused("chainId", chainId, what);
  }
  const bytes = message.subarray(prefix.length);
  const inputData = tryDecode(InputDataSchema, bytes);
  const written = inputData && toBinary(InputDataSchema, inputData, { writeUnknownFields: false });
  if (inputData === undefined || written === undefined || !Buffer.from(written).equals(bytes)) {
    throw refused("message", "", "the message is not input data, or has fields that this version does not know");
  }
  const { command, nonce, blockHeight } = inputData;
  if (command.case === undefined || nonce === 0n || blockHeight === 0n) {
    throw refused("message", "", "the message has no command, no nonce or no block height");
  }
  const problems = commandProblems(command);
  if (problems.length > 0) {
    throw new CommandError(problems);
  }
  return inputData;
}

function refused(rule: string, limit: string, what: string): PolicyError {
  const advice = "Sign only transactions of version TX_VERSION_V3 that this library creates. Nothing was signed.";
  return new PolicyError({ rule, limit, value: "", headline: `the guard refuses to sign: ${what}`, advice });
}
