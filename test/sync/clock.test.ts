import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ConnectionError } from "tradewire";
import type { SyncClient } from "tradewire/sync";
import { kinds, type Syncing, startSyncing } from "../support/syncing.js";
import { useRuntime } from "../support/virtual-runtime.js";

const HOUR_MS = 3_600_000;
/** Far more than a sync takes that does not wait for the clock. */
const LIMIT_MS = 120_000;
const unreachable = new ConnectionError("refused", { code: Code.Unavailable, connected: false, advice: "Wait." });

/** How far the machine's clock is from the right time. */
let offMs: number;
let runtime: Disposable;
let syncing: Syncing;

beforeEach(async () => {
  offMs = 0;
  runtime = useRuntime({ unixMs: () => Date.now() + offMs });
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
  runtime[Symbol.dispose]();
});

/** A client whose first exports fail, as those of a node that is away. */
function awayFor(exports: number): SyncClient {
  const client = syncing.clientOf();
  let asked = 0;
  return {
    listSegments: (options) => client.listSegments(options),
    exportNetworkHistory(request, options) {
      asked += 1;
      if (asked <= exports) {
        throw unreachable;
      }
      return client.exportNetworkHistory(request, options);
    },
  };
}

it.each([
  ["back", -HOUR_MS],
  ["forward", HOUR_MS],
])("waits for a node as long as before where the clock is set %s", async (_, byMs) => {
  let isSet = false;
  const onEvent = ({ kind }: { readonly kind: string }) => {
    if (kind === "waiting" && !isSet) {
      isSet = true;
      offMs = byMs;
    }
  };
  const signal = AbortSignal.timeout(LIMIT_MS);
  const { done, events } = syncing.sync({ parallel: 1, signal, hooks: { onEvent } }, awayFor(2));
  expect(await done).toMatchObject({ units: 8, failed: [] });
  expect(isSet).toBe(true);
  expect(kinds(events).filter((kind) => kind === "waiting").length).toBeGreaterThan(0);
});

it("asks a node that was away again, also where the clock is set back", async () => {
  const client = syncing.clientOf();
  let looks = 0;
  const late: SyncClient = {
    ...awayFor(0),
    name: "late",
    async listSegments(options) {
      looks += 1;
      if (looks === 1) {
        throw unreachable;
      }
      return client.listSegments(options);
    },
  };
  const onEvent = ({ kind }: { readonly kind: string }) => {
    if (kind === "unreachable") {
      offMs = -HOUR_MS;
    }
  };
  const { done } = syncing.sync({ parallel: 1, pollMs: 1, hooks: { onEvent } }, [client, late]);
  expect(await done).toMatchObject({ units: 8, failed: [] });
  expect(looks).toBe(2);
});

it.each([200, 110, 70, 55])(
  "asks a node that becomes due between two readings of the clock, %i ms apart",
  async (byMs) => {
    // Which readings are those depends on how many there are, so that several distances are tried.
    let [jumps, readings] = [false, 0];
    using _jumping = useRuntime({
      monotonicMs: () => {
        readings += jumps ? 1 : 0;
        return performance.now() + readings * byMs;
      },
      randomFraction: () => 0, // The backoff is 250 ms.
    });
    const client = syncing.clientOf();
    let asked = 0;
    const away: SyncClient = {
      listSegments: (options) => client.listSegments(options),
      exportNetworkHistory(request, options) {
        asked += 1;
        jumps = asked === 1;
        if (asked === 1) {
          throw unreachable;
        }
        return client.exportNetworkHistory(request, options);
      },
    };
    const { done } = syncing.sync({ parallel: 1, signal: AbortSignal.timeout(LIMIT_MS) }, away);
    expect(await done).toMatchObject({ units: 8, failed: [] });
  },
);
