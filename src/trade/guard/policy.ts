import * as v from "valibot";
import { commandNames } from "../../../gen/names/commands.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { suggestNames } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { invalidValueError } from "../../base/input/assert.js";
import { integer, optionsSchema, parseInput } from "../../base/input/schemas.js";

/**
 * What may be signed:
 *
 * - `active`: everything that the policy allows.
 * - `reducing`: only allowed commands that reduce a position, and cancellations.
 * - `halted`: only cancellations.
 */
export type GuardMode = "active" | "reducing" | "halted";

/** The modes, from the least strict one to the strictest. */
export const GUARD_MODES = ["active", "reducing", "halted"] as const satisfies readonly GuardMode[];

/** The limits of a market, as decimal numbers in text. */
export interface MarketPolicy {
  /** The maximum size of an order, in the market's decimals for sizes. */
  readonly maxSize: string;
  /**
   * The maximum of size times price of an order, in the market's quote. The mark price is used if the order has no
   * price, and for a sell order below it.
   */
  readonly maxNotional: string;
  /**
   * The maximum size of the position, long or short, if all open orders of a side are filled. Orders that are signed and not
   * seen yet count as open. An open position on the other side is not deducted, because it may be closed first.
   */
  readonly maxPosition: string;
  /**
   * The maximum distance of a limit price from the mark price, as a fraction of the mark price. With it, market orders that are
   * not reduce-only and pegged orders are refused, because they have no price of their own.
   */
  readonly maxDistance?: string | undefined;
}

/** The commands that a guard signs. All others are refused. */
export interface Policy {
  /** The mode at the beginning; `active` by default. */
  readonly mode: GuardMode;
  /** The maximum number of orders, amendments and stop orders in any 60 seconds. */
  readonly maxOrdersPerMinute: number;
  /** Whether `transfer` and `cancelTransfer` are allowed; false by default. */
  readonly transfers: boolean;
  /** The markets by their identifiers, 64 hex digits in lower case; `*` is for all others. */
  readonly markets: Readonly<Record<string, MarketPolicy>>;
  /** Names of additional allowed commands, such as `voteSubmission`. Their content is not checked. */
  readonly commands: readonly PolicyCommand[];
}

/** The policy of a guard. Keys with a default are optional. */
export type PolicyInput = Pick<Policy, "maxOrdersPerMinute" | "markets"> & {
  readonly [Key in "mode" | "transfers" | "commands"]?: Policy[Key] | undefined;
};

/** The commands that are checked by the rules of a market. */
const TRADING_COMMANDS = [
  "orderSubmission",
  "orderAmendment",
  "orderCancellation",
  "batchMarketInstructions",
  "stopOrdersSubmission",
  "stopOrdersCancellation",
] as const;

type CommandName = NonNullable<InputData["command"]["case"]>;
type TradingCommand = (typeof TRADING_COMMANDS)[number];

/** The name of a command that a policy can allow by its name. Commands that trade are covered by the rules of markets. */
export type PolicyCommand = Exclude<CommandName, TradingCommand>;

/** The names of all commands, without their definitions, which are not loaded with the library. */
const COMMAND_NAMES = commandNames satisfies { readonly [Name in CommandName]: true };

/** The commands that `transfers` allows. */
const TRANSFER_COMMANDS: readonly PolicyCommand[] = ["transfer", "cancelTransfer"];

const DECIMAL = 'must be a positive decimal number as a string, such as "12.5"';
const decimal = v.pipe(
  v.string(DECIMAL),
  v.check((text) => /^\d{1,40}(\.\d{1,40})?$/.test(text) && /[1-9]/.test(text), DECIMAL),
);

const marketSchema = optionsSchema(
  { maxSize: decimal, maxNotional: decimal, maxPosition: decimal, maxDistance: v.optional(decimal) },
  'must be an object such as { "maxSize": "10", "maxNotional": "50000", "maxPosition": "25" }',
);

const MARKETS = "must be an object whose keys are market IDs of 64 lowercase hex digits, or *";
const MODE = `must be ${GUARD_MODES.join(" or ")}`;
const COMMANDS = 'must be an array of command names, such as ["voteSubmission"]';

const policySchema = optionsSchema(
  {
    mode: v.optional(v.picklist(GUARD_MODES, MODE), "active"),
    maxOrdersPerMinute: integer(0, 1_000_000, "must be a whole number from 0 to 1000000"),
    transfers: v.optional(v.boolean("must be true or false"), false),
    markets: v.pipe(
      v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value), MARKETS),
      v.record(v.pipe(v.string(), v.regex(/^([0-9a-f]{64}|\*)$/, MARKETS)), marketSchema, MARKETS),
    ),
    commands: v.optional(v.array(v.string(COMMANDS), COMMANDS), () => []),
  },
  "must be an object with maxOrdersPerMinute and markets",
);

/**
 * Parses a policy.
 *
 * @param value the policy, for example from `JSON.parse`
 * @param source where it comes from, for errors, such as the name of a file
 * @returns the policy, with its defaults
 * @throws {@link RequestError} if a key is unknown, or a value is wrong
 *
 * @example
 * const policy = parsePolicy({
 *   maxOrdersPerMinute: 60,
 *   markets: { "*": { maxSize: "10", maxNotional: "50000", maxPosition: "25", maxDistance: "0.05" } },
 * });
 */
export function parsePolicy(value: unknown, source = "the policy"): Policy {
  if (typeof source !== "string") {
    throw invalidValueError("source", source, "a string, such as the name of a file");
  }
  const policy = parseInput(policySchema, value, source);
  return { ...policy, commands: policy.commands.map((name) => parseCommand(name, source)) };
}

function parseCommand(name: string, source: string): PolicyCommand {
  if (!isCommandName(name)) {
    throw new RequestError(`${source}: unknown command ${JSON.stringify(name)} in commands`, {
      advice: suggestNames(name, Object.keys(COMMAND_NAMES)),
    });
  }
  if (isTradingCommand(name)) {
    throw new RequestError(`${source}: commands must not contain ${name}, which the rules of markets cover`, {
      advice: "Remove it: `markets` defines what may be traded.",
    });
  }
  return name;
}

function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(COMMAND_NAMES, name);
}

function isTradingCommand(name: CommandName): name is TradingCommand {
  return TRADING_COMMANDS.some((trading) => trading === name);
}

export function isNamed(policy: Policy, name: string): boolean {
  const allowed = policy.transfers ? [...policy.commands, ...TRANSFER_COMMANDS] : policy.commands;
  return allowed.some((each) => each === name);
}
