import { monotonicMs, unixMs } from "../base/runtime/index.js";
import type { GuardMode, SignerEvent } from "../index.js";
import { type CommandContext, json, printable } from "./output.js";

/** How many events are printed in a period, and its length in milliseconds. Programs must not fill a disk with refusals. */
const MAX_EVENTS = 100;
const PERIOD_MS = 10_000;

/** The message of a signer that is ready. */
interface ReadySigner {
  readonly publicKey: string;
  readonly chainId: string;
  readonly mode: GuardMode;
  /** The path of the policy. */
  readonly policy: string;
  /** The path of the socket. */
  readonly socket: string;
  readonly admin?: string | undefined;
}

/** Prints the events of a signer process, one per line. */
export interface SignerLog {
  ready(signer: ReadySigner): void;
  event(event: SignerEvent): void;
}

/**
 * Creates the log of a signer process. If a reader is slow, or there are too many events, events are counted instead.
 */
export function createSignerLog({ out }: Pick<CommandContext, "out">, asJson: boolean): SignerLog {
  let [periodStart, printed, omitted] = [monotonicMs(), 0, 0];
  let isFull = false;
  const write = (event: object, line: string) => {
    const time = new Date(unixMs()).toISOString();
    isFull = !out.write(asJson ? json({ time, ...event }) : `${printable(line)}\n`);
    if (isFull) {
      out.once("drain", () => {
        isFull = false;
      });
    }
  };
  return {
    ready(signer) {
      const { publicKey, chainId, mode, policy, socket, admin } = signer;
      const sockets = admin === undefined ? socket : `${socket}, ${admin} for the operator`;
      write(
        { event: "ready", ...signer },
        `Signing with ${publicKey} for chain ${chainId}, ${mode}, by ${policy}, on ${sockets}.`,
      );
    },
    event(event) {
      const now = monotonicMs();
      if (now - periodStart >= PERIOD_MS) {
        [periodStart, printed] = [now, 0];
      }
      if (printed >= MAX_EVENTS || isFull) {
        omitted += 1;
        return;
      }
      printed += 1;
      if (omitted > 0) {
        write({ event: "omitted", count: omitted }, `${omitted} events were not printed.`);
        omitted = 0;
      }
      write({ event: event.type, ...fieldsOf(event) }, lineOf(event));
    },
  };
}

function fieldsOf(event: SignerEvent): object {
  switch (event.type) {
    case "refused":
      return { error: event.error.toJSON() };
    case "failed":
      return { error: { message: textOf(event.error) } };
    case "mode":
      return { mode: event.mode, by: event.by };
    case "killed":
      return { report: event.report };
  }
}

function lineOf(event: SignerEvent): string {
  switch (event.type) {
    case "refused":
      return `Refused: ${event.error.summary}`;
    case "failed":
      return `Failed: ${textOf(event.error)}`;
    case "mode":
      return `The mode is ${event.mode}, set by ${event.by === "operator" ? "the operator" : "a program"}.`;
    case "killed":
      return "The kill switch was triggered.";
  }
}

const textOf = (reason: unknown) => (reason instanceof Error ? reason.message : String(reason));
