import type { StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { type Side, type StopOrder, StopOrder_Status, StopOrder_TriggerDirection } from "../../../gen/vega/vega_pb.js";
import { wait } from "../../base/signal/wait.js";
import type { BlockWatch } from "../live/block-watch.js";
import { followBlocks } from "../live/follow-blocks.js";
import { type BlockClocks, untilListed } from "../live/listed-blocks.js";
import type { Accounts } from "../market/account.js";
import type { AccountView } from "../market/account-state.js";
import type { LeaseSettings } from "./lease-options.js";
import { applyView } from "./lease-results.js";
import type { LeaseDataService, LeaseEvents } from "./lease-services.js";
import { adoptable, closingSide, type LeaseState } from "./lease-state.js";
import { FAR_PRICE, STOP_ORDER_REFERENCE } from "./renewal-plan.js";

/** The services that follow the account of a key. */
export interface AccountServices extends LeaseEvents, Pick<BlockClocks, "core"> {
  readonly accounts: Accounts;
  readonly data: LeaseDataService;
  /** The events of stop orders. */
  readonly watch: BlockWatch;
}

/** The time before the account is observed again after its stream has failed, in milliseconds. */
const OBSERVE_AGAIN_MS = 1_000;

/** The maximum number of stop orders that are taken over: networks allow 100 on a market. */
const MAX_STOP_ORDERS = 5_000;

/** Follows the account of the key until a signal is aborted. */
export async function followAccount(
  state: LeaseState,
  services: AccountServices,
  settings: LeaseSettings,
  onPosition: () => void,
  closing: AbortSignal,
): Promise<void> {
  const { publicKey } = settings.signing.signer;
  while (!closing.aborted) {
    try {
      for await (const view of services.accounts.account(publicKey, { signal: closing })) {
        const before = state.view;
        if (before === undefined && view.state === "reloading") {
          continue; // What an earlier program has left may be missing.
        }
        if (before === undefined) {
          await adopt(state, view, services, settings, closing);
        }
        await applyView(state, view, services);
        if (before === undefined || directionsOf(before) !== directionsOf(view)) {
          onPosition();
        }
      }
    } catch (error) {
      if (!closing.aborted) {
        services.emit({ kind: "renewalFailed", marketId: undefined, error });
        await wait(OBSERVE_AGAIN_MS, closing).catch(() => undefined); // The loop ends with the signal.
      }
    }
  }
}

/** The directions of all positions, to be compared. */
function directionsOf({ positions }: AccountView): string {
  const open = positions.filter(({ openVolume }) => openVolume !== 0n);
  return open
    .map(({ marketId, openVolume }) => `${marketId} ${openVolume > 0n}`)
    .sort()
    .join();
}

/**
 * Takes over what an earlier program with the same key has left: its orders if that is wanted, and in any case its stop orders
 * with their triggers, which would close positions although this program lives.
 */
async function adopt(
  state: LeaseState,
  view: AccountView,
  { core, data, watch }: AccountServices,
  settings: LeaseSettings,
  signal: AbortSignal,
): Promise<void> {
  if (settings.adopt) {
    for (const { id, marketId, side, expiresAt } of adoptable(view, settings)) {
      state.orders.set(id, { id, marketId, side, expiresAt });
    }
  }
  if (settings.flattenAfterMs.length === 0) {
    return;
  }
  const { publicKey } = settings.signing.signer;
  const ended = new Set<string>(); // The listing may be behind the events.
  const unfollow = followBlocks(watch, signal, {
    stopOrder({ stopOrder }) {
      if (stopOrder?.partyId === publicKey && stopOrder.status !== StopOrder_Status.PENDING) {
        ended.add(stopOrder.id);
      }
    },
  });
  try {
    await watch.ready(signal);
    await untilListed({ core, data }, { signal }); // Of later stop orders there are events.
    const filter = { partyIds: [publicKey], statuses: [StopOrder_Status.PENDING] };
    const { orders } = await data.listStopOrders(
      { filter, pagination: { first: MAX_STOP_ORDERS, newestFirst: true } },
      { signal },
    );
    for (const { node } of orders?.edges ?? []) {
      const { stopOrder, submission } = node ?? {};
      if (stopOrder === undefined || submission === undefined || ended.has(stopOrder.id)) {
        continue;
      }
      if (adoptStop(state, { stopOrder, submission }, settings)) {
        adoptTrigger(state, view, stopOrder, submission.side);
      }
    }
  } finally {
    unfollow();
  }
}

/**
 * Adopts a stop order of an earlier program with the same key. Such a program may have sent a stop order that is placed only
 * after the program has ended.
 */
export function adoptStop(
  state: LeaseState,
  { stopOrder, submission }: Pick<StopOrderEvent, "stopOrder" | "submission">,
  { flattenAfterMs, marketIds }: LeaseSettings,
): boolean {
  if (
    flattenAfterMs.length === 0 ||
    stopOrder?.expiresAt === undefined ||
    stopOrder.status !== StopOrder_Status.PENDING ||
    submission?.reference !== STOP_ORDER_REFERENCE ||
    marketIds?.has(stopOrder.marketId) === false
  ) {
    return false;
  }
  const { id, marketId, expiresAt } = stopOrder;
  if (!state.stops.has(id)) {
    state.stops.set(id, { id, marketId, side: submission.side, expiresAt, status: "placed", canceledBy: [] });
  }
  return true;
}

/** Goes on with the trigger of a stop order that closes the position which there still is. */
function adoptTrigger(state: LeaseState, { positions }: AccountView, stopOrder: StopOrder, side: Side): void {
  const { marketId, trigger, triggerDirection } = stopOrder;
  const volume = positions.find((position) => position.marketId === marketId)?.openVolume ?? 0n;
  if (trigger.case !== "price" || trigger.value === FAR_PRICE || closingSide(volume) !== side) {
    return;
  }
  const isFalling = triggerDirection === StopOrder_TriggerDirection.FALLS_BELOW;
  state.triggers.set(marketId, isFalling ? { fallsBelow: trigger.value } : { risesAbove: trigger.value });
}
