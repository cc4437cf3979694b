import type { CallOptions, Client as ConnectClient } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { CoreService } from "../../../gen/vega/api/v1/core_pb.js";
import { StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { CanceledError, ConnectionError, RequestError, TradewireError } from "../../base/errors/index.js";
import { isNotFound, undefinedIf } from "../../base/errors/not-found.js";
import { toConnectOptions } from "../../base/input/call-options.js";
import { monotonicMs, timeoutSignal } from "../../base/runtime/index.js";
import { wait } from "../../base/signal/wait.js";
import { describeLag, measureLag } from "../../data/history/data-node-lag.js";
import { untilListed } from "./listed-blocks.js";
import { isNotOffered } from "./live-call.js";
import { debitedParty, ownerMismatch, type Sent } from "./sent-transaction.js";
import {
  type Brought,
  type CommandPart,
  type ExecutedOutcome,
  type Outcome,
  type OutcomePart,
  partOutcome,
  type Trace,
} from "./transaction-outcome.js";
import {
  describeRecords,
  hasBatchRecords,
  leavesRecord,
  orderState,
  proposalState,
  type RecordState,
  recordStates,
  recordTime,
  type StopOrderState,
  stopOrderState,
  transferState,
  withdrawalState,
} from "./transaction-records.js";

/** The traces of a transaction, and what they prove. */
export interface Traces {
  readonly lookedAt: readonly Trace[];
  /** The outcome that the records prove; `undefined` if there are none, or if they are not conclusive. */
  readonly proof: Exclude<Outcome, { readonly status: "unknown" }> | undefined;
  /** Why the records that were found are not conclusive, and what to do; `undefined` if none were found. */
  readonly doubt: string | undefined;
  /** Whether a block contains a transaction with its hash, so that its result will not arrive any more. */
  readonly isExecuted: boolean;
  /** Whether a part of it has no record, though it would if it had succeeded. */
  readonly isPartial: boolean;
  /**
   * Whether all places were read in which it would leave a record if any part of it were executed, and there is none.
   */
  readonly isWithoutRecords: boolean;
  /** Whether a place could not be read, although the node offers it. */
  readonly isUnread: boolean;
}

type DataMethod =
  | "getVegaTime"
  | "getOrder"
  | "getStopOrder"
  | "getTransfer"
  | "getWithdrawal"
  | "getGovernanceData"
  | "listEntities";

/** The calls that find traces. They throw the library's errors. */
export interface TraceServices {
  readonly core: Pick<ConnectClient<typeof CoreService>, "getSpamStatistics" | "lastBlockHeight" | "getVegaTime">;
  readonly data: Pick<ConnectClient<typeof TradingDataService>, DataMethod>;
  /** Finds the block of a time, in Unix nanoseconds, among those that were observed. */
  readonly blockAt: (time: bigint) => bigint | undefined;
  /** Additional headers of the requests. */
  readonly headers?: CallOptions["headers"];
  /** Ends all looks. */
  readonly deadline?: AbortSignal | undefined;
  /** The result of an earlier search for the same transaction. It is reported if a place cannot be read again. */
  readonly earlier?: readonly Trace[] | undefined;
}

/** Maximum time for one look, in milliseconds. */
const LOOKUP_TIMEOUT_MS = 5_000;

/** The longest time that is reserved for the searches after a wait, in milliseconds. */
const FINAL_LOOKUPS_MS = 3_000;

/**
 * Splits the time limit of an outcome: the wait for its result ends early enough to search for its traces afterwards.
 */
export function resultWaitMs(limitMs: number): number {
  return Math.max(1, Math.ceil(limitMs - Math.min(FINAL_LOOKUPS_MS, limitMs / 2)));
}

/** How many orders and stop orders of one transaction are looked at. A batch has at most 50 instructions on v0.78.0. */
const MAX_LOOKUPS = 50;

/** A record that an identifier leads to: what it says of a part of the command, and its block if that is known. */
interface PartRecord {
  readonly part: CommandPart;
  readonly state: RecordState;
  readonly block: bigint | undefined;
}

type HashRecords =
  /** They could not be read. `isTimeUp` says whether they did not arrive in time. */
  | { readonly kind: "unread"; readonly isTimeUp: boolean; readonly isOffered: boolean }
  | { readonly kind: "none" }
  | {
      readonly kind: "found";
      /**
       * What each one proves; empty if they are from a block that cannot contain the transaction, or may belong to
       * another command.
       */
      readonly states: readonly RecordState[];
      readonly block: bigint | undefined;
      /** Whether a batch with unknown parts may have created them. */
      readonly isOpenBatch: boolean;
      /** Whether they are from a block that cannot contain the transaction. */
      readonly isTooEarly: boolean;
    };

/**
 * Searches for traces of a transaction whose result did not arrive: records, by its hash and by the identifiers that
 * are derived from its signature; the number of transactions of its key that are tied to its block; and whether that
 * block is too old.
 */
export async function findTraces(services: TraceServices, sent: Sent): Promise<Traces> {
  const { core } = services;
  const { publicKey, blockHeight } = sent;
  const looks: Promise<Trace>[] = [];
  const partRecords: PartRecord[] = []; // In the order in which they arrive.
  const absentParts = new Set<CommandPart>();
  let endedStopOrder: string | undefined;
  let isUnread = false;

  function look(place: Trace["place"], ask: (options: CallOptions) => Promise<string>): void {
    const earlier = services.earlier?.[looks.length + 1]; // In the order of `lookedAt`, which begins with the records.
    looks.push(
      ask(lookOptions(services))
        .catch((reason: unknown) => {
          isUnread ||= isOffered(reason);
          return failureText(reason, earlier?.found);
        })
        .then((found) => ({ place, found })),
    );
  }

  for (const part of sent.parts.slice(0, MAX_LOOKUPS)) {
    const { id, brings, cancelsStopOrder, amendsOrder } = part;
    if (amendsOrder !== undefined) {
      look("order", async (options) => {
        const found = await services.data.getOrder({ orderId: amendsOrder }, options).catch(undefinedIf(Code.NotFound));
        const version = found?.order?.version;
        if (found === undefined || (version !== undefined && version <= 1n)) {
          absentParts.add(part); // Each amendment raises the version.
        }
        return version === undefined ? "none" : `order ${amendsOrder} has version ${version}`;
      });
    }
    if (cancelsStopOrder !== undefined) {
      look("stop order", async (options) => {
        const { order } = await services.data.getStopOrder({ orderId: cancelsStopOrder }, options);
        const { status } = order?.stopOrder ?? {};
        const text = `stop order ${cancelsStopOrder} is STATUS_${StopOrder_Status[status ?? 0]}`;
        if (status === StopOrder_Status.PENDING) {
          absentParts.add(part); // A cancellation would have ended it.
        } else {
          endedStopOrder ??= `${text}, but it is not known whether this transaction canceled it`;
        }
        return text;
      });
    }
    if (id !== undefined && brings !== undefined) {
      look(brings, async (options) => {
        const found = await lookForPart(services, sent, { ...part, brings, id }, options).catch(
          undefinedIf(Code.NotFound),
        );
        if (found === undefined) {
          absentParts.add(part);
          return "none";
        }
        partRecords.push({ part, ...found });
        return `${brings} ${id} is ${found.state.text}`;
      });
    }
  }
  const byIdentifier = [...looks];
  if (publicKey !== undefined && blockHeight !== undefined) {
    look("spam statistics", (options) => describeSpam(core, { publicKey, blockHeight }, options));
  }
  look("last block", (options) => describeLastBlock(core, blockHeight, options));
  look("data node", async (options) => `it ${describeLag(await measureLag(services, options))}`);
  await Promise.all(byIdentifier); // Whatever has an identifier then has its records by hash, too.
  const { trace, records } = await lookByHash(services, sent);
  const lookedAt = [trace, ...(await Promise.all(looks))];
  const concluded = conclude(sent, partRecords, records);
  return {
    lookedAt,
    ...concluded,
    doubt: concluded.doubt ?? endedStopOrder,
    isUnread: isUnread || (records.kind === "unread" && records.isOffered),
    isPartial: absentParts.size > 0,
    isWithoutRecords:
      sent.isHashOfNode !== true &&
      sent.parts.length > 0 &&
      partRecords.length === 0 && // What it would have created may be of a transaction with another proof of work.
      sent.parts.every((part) => absentParts.has(part) || (records.kind === "none" && leavesRecord(sent, part))),
  };
}

/**
 * Searches for traces. Where a block contains the transaction, and a part of it has no record, it searches again once the
 * data node lists that block for certain: it may be committing it.
 */
export async function findListedTraces(services: TraceServices, sent: Sent): Promise<Traces> {
  const traces = await findTraces(services, sent);
  if (!traces.isExecuted || !traces.isPartial || traces.proof !== undefined) {
    return traces;
  }
  const { headers, deadline: signal } = services;
  const isListed = await untilListed(services, toConnectOptions({ headers, signal })).then(
    () => true,
    () => false,
  );
  const again = isListed ? await findTraces({ ...services, earlier: traces.lookedAt }, sent) : traces;
  return again.isExecuted ? again : traces; // It may be of another data node.
}

/** How many blocks back the absence of records proves something. Data nodes remove old records, some after a day. */
const MAX_ABSENCE_BLOCKS = 20_000n;

/**
 * How many blocks more have to pass until the absence of records proves something: with several nodes, or a load balancer,
 * the records may be those of a data node that is some blocks behind.
 */
const ABSENCE_MARGIN = 25n;

/** How long a data node may take to write the core's last block, and the pause between two looks, in milliseconds. */
const [MAX_WRITING_MS, WRITING_POLL_MS] = [10_000, 250];

/** The pause after the first of the looks for evidence, and the longest one, in milliseconds. */
const [EVIDENCE_POLL_MS, MAX_EVIDENCE_POLL_MS] = [1000, 10_000];

/**
 * Searches for traces of a transaction. Where there are none, finds whether it was certainly not executed and can no
 * longer be: the network does not accept it any more, and a data node that has all blocks that could contain it has none
 * of the records that it would have left. Blocks until then are waited for.
 */
export async function findEvidence(
  services: TraceServices,
  sent: Sent,
  patience?: AbortSignal,
  seenIn?: bigint,
): Promise<Traces | "absent"> {
  for (let pauseMs = EVIDENCE_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_EVIDENCE_POLL_MS)) {
    const traces = await findListedTraces(services, sent);
    if (!traces.isWithoutRecords) {
      return traces;
    }
    const absence = await absenceOf(services, sent, seenIn);
    if (absence === "proven") {
      return "absent";
    }
    if (absence === "unprovable" || patience === undefined || patience.aborted) {
      return traces;
    }
    await wait(pauseMs, patience).catch(() => undefined);
  }
}

/**
 * Returns whether the absence of records proves that a transaction was not and will not be executed: now, perhaps after
 * more blocks, or never.
 */
async function absenceOf(
  services: TraceServices,
  sent: Sent,
  seenIn: bigint | undefined,
): Promise<"proven" | "open" | "unprovable"> {
  const { blockHeight } = sent;
  if (blockHeight === undefined) {
    return "unprovable";
  }
  try {
    const { height, spamPowNumberOfPastBlocks: past } = await services.core.lastBlockHeight({}, lookOptions(services));
    const last = seenIn ?? (past === 0 ? undefined : blockHeight + BigInt(past));
    if (last === undefined || height - blockHeight > MAX_ABSENCE_BLOCKS) {
      return "unprovable";
    }
    if (!(await hasAllRecords(services, last))) {
      return "open";
    }
    return (await findTraces(services, sent)).isWithoutRecords ? "proven" : "open"; // These are the records of all these blocks.
  } catch {
    return "open"; // The node did not respond.
  }
}

/**
 * Returns whether records that are read from now on are those of all blocks up to one, whichever data node they come from.
 *
 * @throws the errors of the calls, and {@link ConnectionError} if the data node lags its core
 */
export async function hasAllRecords(services: TraceServices, last: bigint): Promise<boolean> {
  const { height } = await services.core.lastBlockHeight({}, lookOptions(services));
  if (height <= last + ABSENCE_MARGIN) {
    return false;
  }
  await dataNodeIsCurrent(services);
  return true;
}

/** Waits until the data node has the block that is the core's last one now. */
async function dataNodeIsCurrent(services: TraceServices): Promise<void> {
  const { core, data, deadline } = services;
  const { timestamp: wanted } = await core.getVegaTime({}, lookOptions(services));
  const until = monotonicMs() + MAX_WRITING_MS;
  for (;;) {
    const { timestamp } = await data.getVegaTime({}, lookOptions(services));
    if (timestamp / 1000n >= wanted / 1000n) {
      return; // The data node stores times in microseconds.
    }
    if (monotonicMs() > until) {
      throw new ConnectionError("the data node lags its core", {
        code: Code.DeadlineExceeded,
        advice: "Check the data node.",
        connected: true,
      });
    }
    await wait(WRITING_POLL_MS, deadline);
  }
}

async function lookByHash(
  services: TraceServices,
  sent: Sent,
): Promise<{ readonly trace: Trace; readonly records: HashRecords }> {
  const options = lookOptions(services);
  try {
    const all = await services.data.listEntities({ transactionHash: sent.txHash.toLowerCase() }, options);
    const found = describeRecords(all);
    if (found === "") {
      return { trace: { place: "records", found: "none" }, records: { kind: "none" } };
    }
    const isOpenBatch = sent.command === undefined && hasBatchRecords(all);
    const time = recordTime(all);
    const block = time === undefined ? undefined : services.blockAt(time);
    if (block !== undefined && isTooEarly(block, sent)) {
      return {
        trace: { place: "records", found: `${found}, but of block ${block}, ${tiedTo(sent)}` },
        records: { kind: "found", states: [], block: undefined, isOpenBatch, isTooEarly: true },
      };
    }
    const states = sent.isHashOfNode === true ? [] : recordStates(all, sent);
    return {
      trace: { place: "records", found },
      records: { kind: "found", states, block, isOpenBatch, isTooEarly: false },
    };
  } catch (reason) {
    if (isNotFound(reason)) {
      return { trace: { place: "records", found: "none" }, records: { kind: "none" } };
    }
    return {
      trace: { place: "records", found: failureText(reason, services.earlier?.[0]?.found) },
      records: { kind: "unread", isTimeUp: options.signal?.aborted === true, isOffered: isOffered(reason) },
    };
  }
}

/** Looks for what a part of the command brings. A record of a block in which the transaction cannot be decides nothing. */
async function lookForPart(
  { data, blockAt }: TraceServices,
  sent: Sent,
  part: CommandPart & { readonly brings: Brought; readonly id: string },
  options: CallOptions,
): Promise<Omit<PartRecord, "part"> | undefined> {
  const found = await lookFor(data, sent, part, options);
  if (found === undefined) {
    return undefined;
  }
  const { state, time } = found;
  const block = time === undefined ? undefined : blockAt(time);
  return block !== undefined && isTooEarly(block, sent)
    ? { state: { status: "open", text: `${state.text}, but of block ${block}, ${tiedTo(sent)}` }, block: undefined }
    : { state, block };
}

/** Returns whether the transaction cannot be in a block, because it is tied to that block or to a later one. */
function isTooEarly(block: bigint, { blockHeight }: Sent): boolean {
  return blockHeight !== undefined && block <= blockHeight;
}

function tiedTo({ blockHeight }: Sent): string {
  return `and the transaction is tied to block ${blockHeight}`;
}

async function describeSpam(
  core: TraceServices["core"],
  { publicKey, blockHeight }: { readonly publicKey: string; readonly blockHeight: bigint },
  options: CallOptions,
): Promise<string> {
  const { statistics } = await core.getSpamStatistics({ partyId: publicKey }, options);
  const state = statistics?.pow?.blockStates.find((each) => each.blockHeight === blockHeight);
  return `block ${blockHeight} was used by ${state?.transactionsSeen ?? 0n} transactions of the key`;
}

async function describeLastBlock(
  core: TraceServices["core"],
  blockHeight: bigint | undefined,
  options: CallOptions,
): Promise<string> {
  const { height, spamPowNumberOfPastBlocks: past } = await core.lastBlockHeight({}, options);
  const isTooOld = blockHeight !== undefined && height >= blockHeight + BigInt(past);
  const age = isTooOld ? "is too old to be accepted" : "may still be accepted";
  return `the last block is ${height}${blockHeight === undefined ? "" : `; a transaction tied to block ${blockHeight} ${age}`}`;
}

/** Returns what the records together prove, or why they leave it open. */
function conclude(
  sent: Sent,
  partRecords: readonly PartRecord[],
  records: HashRecords,
): Pick<Traces, "proof" | "doubt" | "isExecuted"> {
  const { txHash, parts } = sent;
  const states = new Map(partRecords.map(({ part, state }) => [part, state]));
  const isRecorded = records.kind === "found" && !records.isTooEarly;
  const isExecuted = isRecorded || partRecords.some(({ part, state }) => isStopOrder(part) && state.status !== "open");
  const doubt = doubtOf(sent, states, records);
  if (doubt !== undefined) {
    return { proof: undefined, doubt, isExecuted };
  }
  const byHash = isRecorded ? records : { states: [], block: undefined };
  const block = partRecords.find((each) => each.block !== undefined)?.block ?? byHash.block;
  const proof = proofOf({ txHash, block, evidence: "records" }, parts, states, byHash.states);
  return { proof, doubt: isExecuted && proof === undefined ? undecided(parts, states) : undefined, isExecuted };
}

/**
 * Whether a part submits a stop order. `ListEntities` lists none by the hash of a transaction (v0.78.0,
 * `datanode/api/trading_data_v2.go`), so the hash leaves no doubt about one whose content is that of the command.
 */
function isStopOrder({ brings }: CommandPart): boolean {
  return brings === "stop order";
}

/** Names the parts whose outcome no record shows, although a block has the transaction. */
function undecided(parts: readonly CommandPart[], states: ReadonlyMap<CommandPart, RecordState>): string {
  const open = parts.filter((part) => (states.get(part)?.status ?? "open") === "open");
  const paths = open.flatMap(({ path }) => (path === "" ? [] : [path]));
  const what = paths.length === 0 ? "it" : paths.join(", ");
  return `a block contains it, but no record shows the result of ${what}: check the orders and positions that it would have changed before you resend it`;
}

/** Why the findings do not determine the outcome of the transaction with this exact hash. */
function doubtOf(sent: Sent, states: ReadonlyMap<CommandPart, RecordState>, records: HashRecords): string | undefined {
  if (records.kind === "found") {
    return records.isOpenBatch
      ? "it may be a batch with a failed part, which leaves no record: use the signed transaction instead of the hash (`tradewire outcome --signed FILE`, `client.outcome(transaction)`)"
      : undefined;
  }
  const first = [...states].find(([part]) => !isStopOrder(part));
  const isTimeUp = records.kind === "unread" && records.isTimeUp;
  // The signature, and so the identifiers, do not depend on the proof of work, but the hash does.
  const isOfOther = records.kind === "none" || sent.isHashOfNode === true;
  if (first === undefined || !(isOfOther || isTimeUp)) {
    return undefined;
  }
  const [{ id, brings }, { text }] = first;
  if (isTimeUp) {
    return `${brings} ${id} is ${text}, but the deadline passed before the records with the hash ${sent.txHash} were read: allow more time`;
  }
  return `${brings} ${id} is ${text}, but no record has the hash ${sent.txHash}: a transaction with the same signature and another hash, for example with another proof of work, may have created it; check this before you resend the command`;
}

/** Reads whether the network accepted a stop order of a transaction that was executed. */
export async function readStopOrder(services: TraceServices, sent: Sent, part: StopOrderPart): Promise<StopOrderState> {
  const options = lookOptions(services);
  const read = () => askStopOrder(services.data, sent, part, options).catch(undefinedIf(Code.NotFound));
  try {
    let found = await read();
    if (found === undefined) {
      await untilListed(services, options);
      found = await read();
    }
    return found?.state ?? { kind: "unread", why: `the data node does not have stop order ${part.id}` };
  } catch (reason) {
    return { kind: "unread", why: `stop order ${part.id} ${failureText(reason)}` };
  }
}

type StopOrderPart = Pick<CommandPart, "marketId" | "stopOrder"> & { readonly id: string };

async function askStopOrder(
  data: TraceServices["data"],
  sent: Sent,
  part: StopOrderPart,
  options: CallOptions,
): Promise<{ readonly state: StopOrderState; readonly time: bigint } | undefined> {
  const { order: event } = await data.getStopOrder({ orderId: part.id }, options);
  const stopOrder = event?.stopOrder;
  const state = stopOrder?.id.toLowerCase() === part.id ? stopOrderState(sent, part, event) : undefined;
  return state && { state, time: stopOrder?.createdAt ?? 0n };
}

export async function readLastBlock(services: TraceServices): Promise<bigint | string> {
  try {
    return (await services.core.lastBlockHeight({}, lookOptions(services))).height;
  } catch (reason) {
    return failureText(reason);
  }
}

async function lookFor(
  data: TraceServices["data"],
  sent: Sent,
  part: CommandPart & { readonly brings: Brought; readonly id: string },
  options: CallOptions,
): Promise<{ readonly state: RecordState; readonly time?: bigint } | undefined> {
  const { brings, id } = part;
  if (brings === "stop order") {
    const found = await askStopOrder(data, sent, part, options);
    return found && { state: toRecord(found.state), time: found.time };
  }
  const found = await readRecord(data, brings, id, options);
  if (found?.id.toLowerCase() !== id) {
    return undefined;
  }
  const owner = brings === "transfer" ? debitedParty(sent) : sent.publicKey;
  const other = ownerMismatch({ publicKey: owner }, part, found);
  return other === undefined ? found : { state: { status: "open", text: `${found.state.text}, but ${other}` } };
}

/** A record by an identifier, and whom it names. */
interface OwnedRecord {
  readonly id: string;
  readonly partyId: string;
  readonly marketId?: string;
  readonly state: RecordState;
  readonly time?: bigint;
}

async function readRecord(
  data: TraceServices["data"],
  brings: Exclude<Brought, "stop order">,
  id: string,
  options: CallOptions,
): Promise<OwnedRecord | undefined> {
  switch (brings) {
    case "order": {
      const { order } = await data.getOrder({ orderId: id }, options);
      return order && { ...order, state: orderState(order), time: order.createdAt };
    }
    case "transfer": {
      const transfer = (await data.getTransfer({ transferId: id }, options)).transferNode?.transfer;
      return (
        transfer && { ...transfer, partyId: transfer.from, state: transferState(transfer), time: transfer.timestamp }
      );
    }
    case "withdrawal": {
      const { withdrawal } = await data.getWithdrawal({ id }, options);
      return withdrawal && { ...withdrawal, state: withdrawalState(withdrawal) };
    }
    case "proposal": {
      const { data: found } = await data.getGovernanceData({ proposalId: id }, options);
      const proposal = found?.proposal;
      return proposal && { ...proposal, state: proposalState(proposal), time: proposal.timestamp };
    }
  }
}

function toRecord(state: StopOrderState): RecordState {
  if (state.kind === "unread" || state.kind === "other") {
    return { status: "open", text: state.why };
  }
  const text = `${state.kind}${textOf(state)}`;
  return state.kind === "rejected" ? { status: "failed", reason: state.reason, text } : { status: "executed", text };
}

function textOf(state: StopOrderState): string {
  return state.kind === "rejected" ? `, ${state.reason}` : "";
}

/**
 * The proof from records: for each part, if each part creates something; otherwise for the only part, by the transaction's hash.
 */
function proofOf(
  known: Pick<ExecutedOutcome, "txHash" | "block" | "evidence">,
  parts: readonly CommandPart[],
  states: ReadonlyMap<CommandPart, RecordState>,
  byHash: readonly RecordState[],
): Traces["proof"] {
  const outcomes = parts.flatMap((part): OutcomePart[] => {
    const state = states.get(part) ?? (parts.length === 1 && part.path === "" ? onlyState(byHash) : undefined);
    return state === undefined || state.status === "open" ? [] : [partOutcome(part, state.reason)];
  });
  if (parts.length > 0) {
    return outcomes.length === parts.length ? { ...known, ...statusOf(outcomes), parts: outcomes } : undefined;
  }
  const settled = byHash.flatMap(({ status, reason }) => (status === "open" ? [] : [{ status, reason }]));
  return settled.length > 0 && settled.length === byHash.length
    ? { ...known, ...statusOf(settled), parts: [] }
    : undefined;
}

/** The combined facts from the records of one hash, where they agree. */
function onlyState(states: readonly RecordState[]): RecordState | undefined {
  const [first] = states;
  return states.every(({ status }) => status === first?.status) ? first : undefined;
}

function statusOf(parts: readonly { readonly status: "executed" | "failed"; readonly reason?: string | undefined }[]) {
  const reasons = parts.flatMap(({ reason }) => (reason === undefined ? [] : [reason]));
  if (reasons.length === 0) {
    return { status: "executed" as const };
  }
  const status = reasons.length === parts.length ? ("failed" as const) : ("partial" as const);
  return { status, reason: [...new Set(reasons)].join(", ") };
}

function lookOptions({ headers, deadline }: Pick<TraceServices, "headers" | "deadline">): CallOptions {
  const look = timeoutSignal(LOOKUP_TIMEOUT_MS);
  return toConnectOptions({ signal: deadline === undefined ? look : AbortSignal.any([look, deadline]), headers });
}

/** Returns whether a node offers what could not be read. `ListEntities` has no path over REST. */
function isOffered(reason: unknown): boolean {
  return !isNotOffered(reason) && !(reason instanceof RequestError);
}

function failureText(reason: unknown, earlier?: string): string {
  if (isNotFound(reason)) {
    return "none";
  }
  return earlier === undefined || earlier.startsWith(UNREAD)
    ? `${UNREAD}: ${lookFailure(reason)}`
    : `${earlier} when the wait began; ${UNREAD} again: ${lookFailure(reason)}`;
}

const UNREAD = "could not be read";

function lookFailure(reason: unknown): string {
  if (reason instanceof CanceledError) {
    return "the deadline passed";
  }
  return reason instanceof TradewireError ? reason.summary : String(reason);
}
