import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { RequestError } from "tradewire";
import { type DevnodeOptions, startDevnode } from "tradewire/devnode";

/** What refuses the options, which a caller in JavaScript gives. */
async function refusalOf(given: unknown): Promise<RequestError> {
  const outcome = await startDevnode(given as DevnodeOptions).then(
    (node) => node.close(),
    (reason: unknown) => reason,
  );
  if (!(outcome instanceof RequestError)) {
    throw new Error("the options were not refused as they should be", { cause: outcome });
  }
  return outcome;
}

it.each([
  [{ grpcPort: -1 }, "grpcPort is -1"],
  [{ restPort: 65_536 }, "restPort is 65536"],
  [{ restPort: 1.5 }, "restPort is 1.5"],
  [{ segments: 0 }, "segments is 0"],
  [{ segments: 1e15 }, "segments is 1000000000000000"],
  [{ blocksPerSegment: 1e9 }, "segments and blocksPerSegment result in 5000000000 blocks, more than 1000000000"],
  [{ segments: "5" }, 'segments is "5"'],
  [{ chainId: "../x" }, 'chainId is "../x"'],
  [{ chainId: null }, "chainId is null"],
  [{ schemaVersions: 116 }, "schemaVersions is 116"],
  [{ schemaVersions: [] }, "schemaVersions is a list"],
  [{ schemaVersions: [115, 117] }, "schemaVersions[1] is 117"],
  [{ genesis: null }, "genesis is null"],
  [{ genesis: [] }, "genesis is a list"],
  [{ genesis: new Map([["trades", []]]) }, "genesis is a Map"],
  [{ genesis: { trades: 5 } }, "genesis.trades is 5"],
  [{ genesis: { trades: {} } }, "genesis.trades is an object"],
  [{ genesis: { trades: [null] } }, "genesis.trades, row 1 is null"],
  [{ genesis: { trades: [[]] } }, "genesis.trades, row 1 is a list"],
  [
    { genesis: { trades: [{ vega_time: Object.create(null) }] } },
    "genesis.trades, row 1, column vega_time: an object is not a time, such as 2023-10-19T08:00:01Z",
  ],
  [{ chainIdPrefix: "signature_only" }, 'chainIdPrefix is "signature_only"'],
  [{ rateLimit: 5 }, "rateLimit is 5"],
  [{ rateLimit: null }, "rateLimit is null"],
  [{ rateLimit: { burst: "5" } }, 'rateLimit.burst is "5"'],
  [{ dataDir: "" }, 'dataDir is ""'],
  [{ host: 5 }, "host is 5"],
  [{ host: "" }, 'host is ""'],
  [{ admin: "no" }, 'admin is "no"'],
  [{ adminNames: "node" }, 'adminNames is "node"'],
  [{ adminNames: ["node:3008"] }, 'adminNames[0] is "node:3008"'],
  [{ onFailure: 5 }, "onFailure is 5"],
  [{ signal: { aborted: true } }, "signal is an object"],
  [{ profile: "deploid" }, 'profile is "deploid"'],
  [null, "startDevnode was given null"],
  [[], "startDevnode was given a list"],
  [new Map(), "startDevnode was given a Map"],
  ["deployed", 'startDevnode was given "deployed"'],
])("%j is refused: %s", async (given, summary) => {
  expect((await refusalOf(given)).summary).toBe(summary);
});

it.each([
  [{ blockMS: 0 }, 'startDevnode does not know "blockMS"', "Did you mean blockMs? There are host, grpcPort, "],
  [{ chain_id: "x" }, 'startDevnode does not know "chain_id"', "Did you mean chainId? "],
  [{ rateLimit: { brust: 5 } }, 'rateLimit does not know "brust"', "Did you mean burst? There are burst, perSecond"],
  [{ genesis: { trade: [] } }, 'genesis does not know "trade"', "Did you mean trades? There are balances, "],
  [JSON.parse('{"__proto__":{"admin":true}}'), 'startDevnode does not know "__proto__"', "There are host, "],
])("%j names what there is not, and is told the nearest that there is", async (given, summary, advice) => {
  const refusal = await refusalOf(given);
  expect(refusal.summary).toBe(summary);
  expect(refusal.advice.startsWith(advice)).toBe(true);
});

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => Object.prototype.toString.call(value) === "[object Object]";
const isWhole = (value: unknown) => Number.isSafeInteger(value);
const isText = (value: unknown) => typeof value === "string";

/** Whether a value might be right for an option. */
const fits: { readonly [option in keyof Required<DevnodeOptions>]: (value: unknown) => boolean } = {
  host: isText,
  grpcPort: isWhole,
  restPort: isWhole,
  chainId: isText,
  profile: isText,
  segments: isWhole,
  blocksPerSegment: isWhole,
  schemaVersions: Array.isArray,
  genesis: isObject,
  fundedKeys: Array.isArray,
  activity: isWhole,
  blockMs: isWhole,
  dataDir: isText,
  chainIdPrefix: isText,
  rateLimit: (value) => typeof value === "boolean" || isObject(value),
  admin: (value) => typeof value === "boolean",
  adminNames: Array.isArray,
  onFailure: isFunction,
  signal: isObject,
};
const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });

it("every other value of every option is refused by the option's name, on one line", async () => {
  const wrong = fc.constantFrom(...Object.entries(fits)).chain(([option, isRight]) =>
    fc.tuple(
      fc.constant(option),
      anything.filter((value) => value !== undefined && !isRight(value)),
    ),
  );
  await fc.assert(
    fc.asyncProperty(wrong, async ([option, value]) => {
      const { summary, advice } = await refusalOf({ [option]: value });
      expect(summary).toMatch(new RegExp(`^${option} is [^\\n]+$`));
      expect(advice).toMatch(/^[A-Z].*\.$|-$/);
    }),
  );
});

it("every option that there is not is refused", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1 }).filter((name) => !Object.hasOwn(fits, name)),
      async (name) => {
        const { summary } = await refusalOf({ segments: 1, [name]: 1 });
        expect(summary).toContain("startDevnode does not know ");
      },
    ),
  );
});
