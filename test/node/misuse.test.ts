import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { RequestError } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { runs } from "../support/tier.js";

const small = { segments: 1, blocksPerSegment: 10, blockMs: 0 } as const;

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode(small);
  folder = await mkdtemp(join(tmpdir(), "tradewire-misuse-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

type Control = "makeBlock" | "setTime" | "snapshot" | "revert" | "reset" | "failNext";

/** The summary of what refuses a call, which a caller in JavaScript makes. */
function refusal(control: Control, given: unknown, { [control]: call }: Devnode = node): string {
  try {
    Reflect.apply(call, undefined, [given]);
  } catch (reason) {
    expect(reason).toBeInstanceOf(RequestError);
    return reason instanceof RequestError ? reason.summary : "";
  }
  throw new Error(`${control} took it`);
}

it.each<[Control, unknown, string]>([
  [
    "failNext",
    undefined,
    'failure is missing: it must be an object such as { method: "ExportNetworkHistory", with: "cut" }',
  ],
  ["failNext", null, 'failure must be an object such as { method: "ExportNetworkHistory", with: "cut" } (got null)'],
  [
    "failNext",
    "Info",
    'failure must be an object such as { method: "ExportNetworkHistory", with: "cut" } (got a string)',
  ],
  ["failNext", {}, "method is missing: it must be the name of a method, such as ExportNetworkHistory"],
  ["failNext", { method: 5, with: "cut" }, "method must be the name of a method, such as ExportNetworkHistory (got 5)"],
  [
    "failNext",
    { method: "Info" },
    "with is missing: it must be cut, stall, error-after-archive or a code such as UNAVAILABLE",
  ],
  [
    "failNext",
    { method: "Info", with: null },
    "with must be cut, stall, error-after-archive or a code such as UNAVAILABLE (got null)",
  ],
  ["failNext", { method: "Info", with: "cut", after: 1 }, 'unknown field "after" in failure'],
  ["failNext", { method: "Info", with: "cut", times: 1.5 }, "times must be a whole number of at least 1 (got 1.5)"],
  [
    "failNext",
    { method: "Info", with: "cut", afterBytes: "9" },
    'afterBytes must be a whole number of bytes of at least 0 (got "9")',
  ],
  ["revert", undefined, "id is missing: it must be the ID that snapshot returned"],
  ["revert", 1, "id must be the ID that snapshot returned (got 1)"],
  ["revert", {}, "id must be the ID that snapshot returned (got an object)"],
  ["setTime", undefined, "invalid time undefined"],
  ["setTime", null, "invalid time null"],
  ["setTime", 1_935_817_689_500, "invalid time 1935817689500"],
  ["setTime", {}, "invalid time an object"],
  ["setTime", "", 'invalid time ""'],
  ["setTime", "2031-02-30", 'invalid time "2031-02-30"'],
  ["setTime", "2031-02-29T00:00:00Z", 'invalid time "2031-02-29T00:00:00Z"'],
  ["setTime", "2031-13-01", 'invalid time "2031-13-01"'],
  ["setTime", "2031-02-28T25:00:00Z", 'invalid time "2031-02-28T25:00:00Z"'],
  ["setTime", "May 5 2031", 'invalid time "May 5 2031"'],
  ["setTime", new Date(Number.NaN), 'invalid time "Invalid Date"'],
  ["setTime", -(10n ** 40n), `invalid time ${-(10n ** 40n)}`],
])("%s refuses %p", (control, given, summary) => {
  expect(refusal(control, given)).toBe(summary);
});

it("no value makes a control fail but by being refused", () => {
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
  fc.assert(
    fc.property(fc.constantFrom<Control>("failNext", "revert"), anything, (control, given) => {
      expect(refusal(control, given)).toMatch(/^[^\n]+$/);
    }),
  );
  fc.assert(
    fc.property(
      anything.filter((given) => typeof given !== "bigint" && !(given instanceof Date)),
      (given) => {
        expect(refusal("setTime", given)).toMatch(/^invalid time |is not after the time|must be before/);
      },
    ),
  );
});

it("every day that there is can be set, and no other", async () => {
  const digits = (most: number) => fc.integer({ min: 1, max: most });
  const snapshot = node.snapshot();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 2100, max: 2200 }), digits(12), digits(31), async (year, month, day) => {
      const text = [year, month, day].map((number) => String(number).padStart(2, "0")).join("-");
      const isDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
      node.revert(snapshot);
      if (isDay) {
        node.setTime(text);
        await node.makeBlock();
      } else {
        expect(refusal("setTime", text)).toBe(`invalid time "${text}"`);
      }
    }),
    { numRuns: runs(60) },
  );
  node.revert(snapshot);
});

describe("after the node was closed", () => {
  const calls: readonly (readonly [Control, unknown])[] = [
    ["setTime", "2040-01-01"],
    ["snapshot", undefined],
    ["revert", "1"],
    ["reset", undefined],
    ["failNext", { method: "Info", with: "cut" }],
  ];

  it.each(["in memory", "in a folder"])("all controls are refused (%s)", async (where) => {
    const closed = await startDevnode({ ...small, ...(where === "in a folder" && { dataDir: join(folder, "node") }) });
    closed.snapshot();
    await closed.close();
    const refused = { name: "RequestError", summary: "the local node is closed", advice: "Start another one." };
    await expect(closed.makeBlock()).rejects.toMatchObject(refused);
    for (const [control, given] of calls) {
      expect(refusal(control, given, closed)).toBe(refused.summary);
    }
  });

  it("they are refused at once, when its signal is aborted", async () => {
    const abort = new AbortController();
    const closing = await startDevnode({ ...small, signal: abort.signal });
    abort.abort();
    await expect(closing.makeBlock()).rejects.toThrow("the local node is closed");
    expect(refusal("reset", undefined, closing)).toBe("the local node is closed");
    await closing.close();
  });
});
