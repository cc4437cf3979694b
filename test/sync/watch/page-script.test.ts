// What the page's script writes, without a browser: its elements are plain objects. How it looks is page.test.ts's.

import { createContext, runInContext } from "node:vm";
import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { createSyncState, SinkError, type SyncEvent } from "tradewire/sync";
import { loadOf, planned, unitOf } from "../../support/sync-events.js";
import { pageScript } from "./inside.js";

/** As much of an element as the script uses. */
class FakeElement {
  className = "";
  hidden = false;
  content: (FakeElement | string)[] = [];
  readonly style = {};
  readonly dataset = {};
  readonly classList = { add: () => undefined, remove: () => undefined };
  readonly parts = new Map<string, FakeElement>();

  get textContent(): string {
    return this.content.map((part) => (typeof part === "string" ? part : part.textContent)).join("|");
  }
  set textContent(text: string) {
    this.content = [String(text)];
  }
  get firstElementChild(): FakeElement {
    return this.querySelector("first");
  }
  append(...content: (FakeElement | string)[]): void {
    this.content.push(...content);
  }
  replaceChildren(...content: (FakeElement | string)[]): void {
    this.content = content;
  }
  querySelector(name: string): FakeElement {
    const part = this.parts.get(name) ?? new FakeElement();
    this.parts.set(name, part);
    return part;
  }
  setAttribute(): void {}
  getContext(): { fillRect(): void } {
    return { fillRect: () => undefined };
  }
}

/** Shows the state behind events as the page does. Returns what stands in an element, or in a list in it. */
async function shown(events: readonly SyncEvent[]): Promise<(id: string, part?: string) => string> {
  const state = createSyncState({ tables: ["trades", "orders"] });
  events.forEach(state.take);
  const text = JSON.stringify(state.snapshot(), (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const elements = new Map<string, FakeElement>();
  const getElementById = (id: string) => {
    const found = elements.get(id) ?? new FakeElement();
    elements.set(id, found);
    return found;
  };
  const nothing = () => undefined;
  const page = (next: () => void) => ({
    document: {
      hidden: false,
      body: new FakeElement(),
      documentElement: new FakeElement(),
      getElementById,
      createElement: () => new FakeElement(),
      addEventListener: nothing,
    },
    fetch: async () => ({ ok: true, json: async () => JSON.parse(text) as unknown }),
    AbortSignal: { timeout: nothing },
    Intl,
    setTimeout: next, // The next look: this one is shown.
    clearTimeout: nothing,
    addEventListener: nothing,
    window: { devicePixelRatio: 1 },
    getComputedStyle: () => ({ getPropertyValue: () => "" }),
    matchMedia: () => ({ addEventListener: nothing }),
    ResizeObserver: class {
      observe(): void {}
    },
  });
  await new Promise<void>((resolve) => {
    runInContext(pageScript, createContext(page(resolve)));
  });
  return (id, part) => {
    const found = getElementById(id);
    return (part === undefined ? found : found.querySelector(part)).textContent;
  };
}

const failing = (segment: number): SyncEvent => ({
  kind: "failed",
  unit: unitOf("trades", segment),
  error: new SinkError("deadlock detected", { code: Code.Aborted, advice: "Wait." }),
  attempt: 2,
});

it("shows how far the tables are, what was loaded, and how often an error came", async () => {
  const page = await shown([
    planned(4, { trades: 1, orders: 2 }),
    ...loadOf("trades", 1),
    failing(2),
    failing(3),
    ...loadOf("orders", 2).slice(0, 2),
  ]);
  expect(page("done")).toBe("50.0|%");
  expect(page("done-more")).toBe("4 of 8 segments of tables");
  expect(page("left-more")).toBe("4 missing");
  expect(page("rows-more")).toBe("40 rows loaded");
  expect(page("speed-more")).toBe("100 B so far");
  expect(page("lag")).toBe("2,000|blocks");
  expect(page("phase")).toBe("Syncing");
  expect(page("about")).toBe("tradewire sync · blocks 1–4,000 · 4 segments · node-a");
  expect(page("underway", "ul")).toMatch(/^orders\|2,001–3,000\|\|60\|?.*B\|0 s$/u);
  expect(page("errors", "ul")).toMatch(
    /^SinkError ABORTED\|2 times, last at \d\d:\d\d:\d\d\|deadlock detected\|Wait\.\|trades, blocks 3,001–4,000 · attempt 2, failed$/u,
  );
});

it("says that speed and lag are not known while the database is waited for", async () => {
  const all = [...loadOf("trades", 0), ...loadOf("orders", 0)];
  const upToDate = await shown([planned(1, { trades: 0, orders: 0 }), ...all, { kind: "idle", againMs: 1000 }]);
  expect(["lag", "lag-more", "phase"].map((id) => upToDate(id))).toEqual([
    "0|blocks",
    "nothing newer was seen",
    "Up to date",
  ]);
  const error = new SinkError("the database cannot be reached", { code: Code.Unavailable, advice: "Wait." });
  const waiting = await shown([
    planned(1, { trades: 0, orders: 0 }),
    ...all,
    { kind: "waiting", error, againMs: 1000 },
  ]);
  expect(["speed", "rows", "lag", "lag-more", "left", "phase"].map((id) => waiting(id))).toEqual([
    "–",
    "–",
    "–",
    "not known while it waits",
    "–",
    "Waiting",
  ]);
  expect(waiting("waiting")).toMatch(/^the database cannot be reached\|Wait\. Next try at \d\d:\d\d:\d\d\.$/u);
});
