import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ConnectionError } from "tradewire";
import type { SyncClient } from "tradewire/sync";
import { kinds, type Syncing, startSyncing } from "../support/syncing.js";
import { useVirtualRuntime, type VirtualRuntime } from "../support/virtual-runtime.js";

const HOUR_MS = 3_600_000;
/** Far more than the waits for a node that fails twice. */
const LIMIT_MS = 20_000;
const away = new ConnectionError("refused", { code: Code.Unavailable, connected: false, advice: "Wait." });

let runtime: VirtualRuntime;
let syncing: Syncing;

beforeEach(async () => {
  runtime = useVirtualRuntime({ io: true });
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
  runtime[Symbol.dispose]();
});

/** Set the machine's clock; it goes on from there. */
function setClock(byMs: number): void {
  runtime.setUnixMs(runtime.unixMs() + byMs);
}

/** A client whose first exports fail, as those of a node that is away. */
function awayFor(exports: number): SyncClient {
  const client = syncing.clientOf();
  let asked = 0;
  return {
    listSegments: (options) => client.listSegments(options),
    exportNetworkHistory(request, options) {
      asked += 1;
      if (asked <= exports) {
        throw away;
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
  const onEvent = ({ case: kind }: { readonly case: string }) => {
    if (kind === "waiting" && !isSet) {
      isSet = true;
      setClock(byMs);
    }
  };
  const startedAt = runtime.monotonicMs();
  const { done, events } = syncing.sync({ parallel: 1, hooks: { onEvent } }, awayFor(2));
  expect(await runtime.until(done)).toMatchObject({ units: 8, failed: [] });
  expect(runtime.monotonicMs() - startedAt).toBeLessThan(LIMIT_MS);
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
        throw away;
      }
      return client.listSegments(options);
    },
  };
  const onEvent = ({ case: kind }: { readonly case: string }) => {
    if (kind === "away") {
      setClock(-HOUR_MS);
    }
  };
  const { done } = syncing.sync({ parallel: 1, pollMs: 1, hooks: { onEvent } }, [client, late]);
  expect(await runtime.until(done)).toMatchObject({ units: 8, failed: [] });
  expect(looks).toBe(2);
});
