// The page in a real browser. Where there is no Chromium, a line says so and nothing is tested.

import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { ConnectionError } from "tradewire";
import { createSyncState, type SyncState, startWatch, type Watch } from "tradewire/sync";
import { findChromium } from "../../support/chromium.js";
import { loadOf, planned, unitOf } from "../../support/sync-events.js";

const executablePath = findChromium();
const inBrowser = executablePath === undefined ? test.skip : test;
if (executablePath === undefined) {
  console.warn("the page is not tested: there is no Chromium; CHROMIUM_PATH may name one");
}

/** An error as a node that means harm would word it. */
const HOSTILE = `<img src=x onerror="document.title='taken'"><b>bold</b>`;

let browser: Browser | undefined;
let context: BrowserContext;
let page: Page;
let watch: Watch;
let state: SyncState;
let problems: string[];
let requested: string[];

beforeAll(async () => {
  browser =
    executablePath === undefined ? undefined : await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
afterAll(() => browser?.close());

beforeEach(async () => {
  if (browser === undefined) {
    return;
  }
  state = createSyncState({ tables: ["trades", "orders"] });
  watch = await startWatch({ listen: "127.0.0.1:0", state, queue: () => ({ created: 42 }) });
  [problems, requested] = [[], []];
  context = await browser.newContext({ viewport: { width: 1200, height: 800 }, colorScheme: "light" });
  await context.route("**/*", (route) => {
    requested.push(route.request().url());
    return route.continue();
  });
  page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
});
afterEach(async () => {
  await context?.close();
  await watch?.close();
});

/** The colours of a table's strip, at shares of its width, halfway up. */
function coloursAt(table: string, shares: readonly number[]): Promise<string[]> {
  return page.locator(`canvas[data-table=${table}]`).evaluate((node, at) => {
    const canvas = node as unknown as {
      width: number;
      height: number;
      getContext(kind: "2d"): { getImageData(x: number, y: number, w: number, h: number): { data: Uint8Array } };
    };
    return at.map((share) => {
      const x = Math.floor(canvas.width * share);
      const { data } = canvas.getContext("2d").getImageData(x, Math.floor(canvas.height * 0.2), 1, 1);
      return `#${[...data.slice(0, 3)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    });
  }, shares);
}

const [THERE, MISSING, UNDER_WAY, FAILED] = ["#3b74b4", "#ecece8", "#f2b705", "#a11d21"];

inBrowser("shows the figures, and the coverage as a picture, and follows what happens", async () => {
  await page.goto(watch.url);
  await page.getByText("no plan yet").waitFor();
  state.take(planned(4, { trades: 1, orders: 2 }));
  await state.cover(async () => [
    { table: "trades", blocks: [1000, 0, 0, 0] },
    { table: "orders", blocks: [1000, 1000, 0, 0] },
  ]);
  const error = new ConnectionError("the node cannot be reached", { code: Code.Unavailable, advice: "Wait." });
  state.take({ kind: "failed", unit: unitOf("trades", 2), error, attempt: 3 });
  state.take({ kind: "began", unit: unitOf("trades", 1), node: "node-a" });
  await page.getByRole("heading", { name: "watched-chain" }).waitFor();
  await page.locator("#done", { hasText: "37.5%" }).waitFor();
  expect(await page.locator("#done-more").textContent()).toBe("3 of 8 segments of tables");
  expect(await page.locator("#lag").textContent()).toBe("3,000blocks");
  expect(await page.locator("#underway li").textContent()).toContain("1,001–2,000");
  expect(await page.locator("#queue li").textContent()).toBe("created42");
  expect(await page.locator("#errors li").textContent()).toMatch(/trades, blocks 2,001–3,000 · attempt 3, failed/);
  expect(await coloursAt("trades", [0.1, 0.4, 0.6, 0.9])).toEqual([THERE, UNDER_WAY, FAILED, MISSING]);
  expect(await coloursAt("orders", [0.1, 0.4, 0.6, 0.9])).toEqual([THERE, THERE, MISSING, MISSING]);

  loadOf("trades", 1).slice(1).forEach(state.take);
  await page.locator("#done", { hasText: "50.0%" }).waitFor();
  await page.getByText("Nothing is in flight.").waitFor();
  expect(await coloursAt("trades", [0.4])).toEqual([THERE]);
  expect(await page.title()).toBe("50.0 % · watched-chain");

  await page.locator("canvas[data-table=orders]").hover({ position: { x: 5, y: 5 } });
  expect(await page.locator("#tip").textContent()).toBe("orders\nblocks 1–1,000\nloaded");
  expect(problems).toEqual([]);
});

inBrowser("asks nobody else, and shows what comes from outside as text", async () => {
  state.take(planned(2, { trades: 0, orders: 0 }));
  const error = new ConnectionError(HOSTILE, { code: Code.Unavailable, advice: HOSTILE });
  state.take({ kind: "failed", unit: unitOf("trades", 0), error, attempt: 1 });
  state.take({ kind: "began", unit: unitOf("orders", 0), node: HOSTILE });
  state.take({ kind: "unknown", unknown: { file: "f", table: "trades", column: HOSTILE } });
  state.take({ kind: "waiting", error, againMs: 1000 });
  await page.goto(watch.url);
  await page.locator("#errors li").first().waitFor();
  expect(await page.locator("#errors li").last().textContent()).toContain(HOSTILE);
  expect(await page.locator("#waiting").textContent()).toContain(HOSTILE);
  expect(await page.locator("#unknown li").textContent()).toContain(HOSTILE);
  expect(await page.locator("img, main b").count()).toBe(0);
  expect(await page.title()).toBe("0.0 % · watched-chain");
  await page.waitForRequest(/\/state$/);
  expect(new Set(requested)).toEqual(new Set([`${watch.url}/`, `${watch.url}/state`]));
  expect(problems).toEqual([]);
});

inBrowser("says when the connection is lost, and goes on when it is back", async () => {
  state.take(planned(2, { trades: 1, orders: 1 }));
  await page.goto(watch.url);
  await page.getByText("Syncing").waitFor();
  const listen = new URL(watch.url).host;
  await watch.close();
  await page.getByText(/The connection was lost at/).waitFor();
  expect(await page.locator("#phase").textContent()).toBe("Connection lost");
  watch = await startWatch({ listen, state });
  await page.locator("#phase", { hasText: "Syncing" }).waitFor();
  expect(await page.locator("#lost").isVisible()).toBe(false);
});

inBrowser("asks no more while nobody looks", async () => {
  await page.goto(watch.url);
  await page.waitForRequest(/\/state$/);
  const setHidden = `(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }`;
  await page.evaluate(`(${setHidden})(true)`);
  await page.waitForTimeout(300); // A question may have been under way.
  const before = requested.length;
  await page.waitForTimeout(2500);
  expect(requested.length).toBe(before);
  await page.evaluate(`(${setHidden})(false)`);
  await page.waitForRequest(/\/state$/);
});

inBrowser("fits a phone, and has dark colours where these are preferred", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  state.take(planned(300_000, { trades: 300_000, orders: 0 }));
  state.take({ kind: "began", unit: unitOf("orders", 0), node: `https://${"long-name.".repeat(20)}example` });
  await state.cover(async ({ parts }) => [{ table: "trades", blocks: new Array(parts).fill(1e9) }]);
  await page.goto(watch.url);
  await page.locator("#done", { hasText: "50.0%" }).waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  expect(await coloursAt("trades", [0.5])).toEqual(["#5b93d0"]);
  expect(await coloursAt("orders", [0.001, 0.5])).toEqual(["#ffd54a", "#2a2e34"]); // One unit of 300,000 is seen.
});
