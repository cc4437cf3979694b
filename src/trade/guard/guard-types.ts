import type { DescService } from "@bufbuild/protobuf";
import { assertOneOf, invalidValueError } from "../../base/input/assert.js";
import type { Paging } from "../../data/listing/paging.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import type { OutcomeOperations } from "../live/outcomes.js";
import type { UnitsOfMarkets } from "../market/market-units.js";
import type { CommandSource } from "../transaction/input-data.js";
import type { Signer } from "../transaction/signer.js";
import type { ChainSettings } from "../transaction/signing-chain.js";
import type { Transactions } from "../transaction/transactions.js";
import { GUARD_MODES, type GuardMode, type Policy, type PolicyInput } from "./policy.js";

/** The signer to guard, and its policy. */
export interface GuardOptions {
  /**
   * The signer for allowed commands. Use it only in this guard: transactions that it signs elsewhere are counted only
   * when the node lists them.
   */
  readonly signer: Signer;
  /** The policy. Use `parsePolicy` for one of unknown content, such as from a file. */
  readonly policy: PolicyInput;
  /**
   * The chain to sign for; by default the configured chain. Without it, only a node on loopback may supply the
   * chain.
   */
  readonly chainId?: string | undefined;
  /** Ends the loading. */
  readonly signal?: AbortSignal | undefined;
}

/** The default time limit of {@link Guard.kill}, in milliseconds. */
export const KILL_MS = 300_000;

/** How long {@link Guard.kill} may take. */
export interface KillOptions {
  /** The maximum time, in milliseconds; 300000 by default. */
  readonly timeoutMs?: number | undefined;
  /** Ends it. The mode stays `halted`. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of {@link Guard.kill}. */
export interface KillReport {
  /**
   * Whether the cancellations were executed, the node listed no live order and no pending stop order after the blocks of the
   * cancellations, and no signed transaction can create one.
   */
  readonly isClear: boolean;
  /** How many cancellations were sent, and how many of them were provably executed. */
  readonly cancellations: { readonly sent: number; readonly executed: number };
  /** The live orders that were listed last; `undefined` if they could not be listed. */
  readonly orders: readonly string[] | undefined;
  /** The pending stop orders that were listed last; `undefined` if they could not be listed. */
  readonly stopOrders: readonly string[] | undefined;
  /** The number of signed orders that the node did not show and that may still be executed. */
  readonly unseen: number;
  /** The open volumes by market, in units of size; `undefined` if they could not be listed. Positions are not closed. */
  readonly positions: Readonly<Record<string, string>> | undefined;
  /** The failures of calls, the latest ten. */
  readonly problems: readonly string[];
}

/**
 * A signer that signs only what a policy allows. Use it instead of the signer, with everything that accepts one.
 *
 * The check is made when a message is signed, on the bytes that are signed. Other code of the program cannot bypass it,
 * unless it has the inner signer.
 */
export interface Guard extends Signer, AsyncDisposable {
  /** The current mode: what may be signed. */
  readonly mode: GuardMode;
  /** Sets the mode. */
  setMode(mode: GuardMode): void;
  /**
   * Signs a message if the policy allows its command.
   *
   * @param message the chain's identifier, a zero byte, and serialized input data
   * @returns the signature, 64 bytes
   * @throws {@link PolicyError} if the policy does not allow it, or cannot be checked; nothing was signed
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /**
   * Checks whether a command would be signed now. Nothing is signed or counted.
   *
   * @param command the command by its name and fields, or serialized input data
   * @throws {@link PolicyError} if the policy does not allow it
   * @throws {@link CommandError} if the command is wrong
   */
  check(command: CommandSource): Promise<void>;
  /**
   * The kill switch: sets the mode `halted`, then cancels all orders and stop orders of the key in all markets,
   * repeatedly, until the node lists none and no signed transaction can create one any more.
   *
   * @param options a time limit and a signal
   * @returns what was observed; see `isClear`
   */
  kill(options?: KillOptions): Promise<KillReport>;
  /** Ends the observation of the node. Nothing is signed any more. */
  close(): void;
}

/** The services that a guard uses. */
export interface GuardServices extends ChainSettings {
  readonly transactions: Pick<Transactions, "lastBlockHeight">;
  readonly sendUrgently: OutcomeOperations["sendUrgently"];
  readonly marketUnits: UnitsOfMarkets["marketUnits"];
  readonly records: Paging["records"];
  readonly service: <S extends DescService>(service: S) => ServiceClient<S>;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

/** The settings of a guard after validation. */
export interface GuardSettings {
  readonly signer: Signer;
  readonly policy: Policy;
  readonly chainId: string;
}

/**
 * Checks a mode.
 *
 * @throws {@link RequestError} if no mode has this name
 */
export function validateMode(mode: GuardMode): void {
  if (typeof mode !== "string") {
    throw invalidValueError("mode", mode, GUARD_MODES.join(" or "));
  }
  assertOneOf("mode", mode, GUARD_MODES);
}
