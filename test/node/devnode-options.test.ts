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
  [{ grpcPort: -1 }, "grpcPort must be a TCP port from 1 to 65535, or 0 for a free one (got -1)"],
  [{ restPort: 65_536 }, "restPort must be a TCP port from 1 to 65535, or 0 for a free one (got 65536)"],
  [{ restPort: 1.5 }, "restPort must be a TCP port from 1 to 65535, or 0 for a free one (got 1.5)"],
  [{ segments: 0 }, "segments must be a whole number from 1 to 1000000 (got 0)"],
  [{ segments: 1e15 }, "segments must be a whole number from 1 to 1000000 (got 1000000000000000)"],
  [
    { blocksPerSegment: 1e9 },
    "segments and blocksPerSegment result in 5000000000 blocks, which exceeds the maximum of 1000000000",
  ],
  [{ segments: "5" }, 'segments must be a whole number from 1 to 1000000 (got "5")'],
  [{ chainId: "../x" }, 'chainId must be 1 to 50 characters of A-Z a-z 0-9 . _ - (got "../x")'],
  [{ chainId: null }, "chainId must be 1 to 50 characters of A-Z a-z 0-9 . _ - (got null)"],
  [
    { schemaVersions: 116 },
    "schemaVersions must be an array of schema versions from 1 to 116, such as 115 and 116 (got 116)",
  ],
  [
    { schemaVersions: [] },
    "schemaVersions must be an array of schema versions from 1 to 116, such as 115 and 116 (got an array)",
  ],
  [
    { schemaVersions: [115, 117] },
    "schemaVersions[1] must be an array of schema versions from 1 to 116, such as 115 and 116 (got 117)",
  ],
  [{ genesis: null }, "genesis must be an object of rows by table, such as { trades: [] } (got null)"],
  [{ genesis: [] }, "genesis must be an object of rows by table, such as { trades: [] } (got an array)"],
  [
    { genesis: new Map([["trades", []]]) },
    "genesis must be an object of rows by table, such as { trades: [] } (got a Map)",
  ],
  [
    { genesis: { trades: 5 } },
    "genesis.trades must be an array of rows, each an object of values by column, or CSV with a header row (got 5)",
  ],
  [
    { genesis: { trades: {} } },
    "genesis.trades must be an array of rows, each an object of values by column, or CSV with a header row (got an object)",
  ],
  [{ genesis: { trades: [null] } }, "genesis.trades, row 1 must be an object of values by column (got null)"],
  [{ genesis: { trades: [[]] } }, "genesis.trades, row 1 must be an object of values by column (got an array)"],
  [
    { genesis: { trades: [{ vega_time: Object.create(null) }] } },
    "genesis.trades, row 1, column vega_time: must be a time, such as 2023-10-19T08:00:01Z (got an object)",
  ],
  [
    { chainIdPrefix: "signature_only" },
    'chainIdPrefix must be signed-and-submitted or signature-only (got "signature_only")',
  ],
  [{ rateLimit: 5 }, "rateLimit must be true, false, or an object such as { burst: 100, perSecond: 20 } (got 5)"],
  [{ rateLimit: null }, "rateLimit must be true, false, or an object such as { burst: 100, perSecond: 20 } (got null)"],
  [{ rateLimit: { burst: "5" } }, 'rateLimit.burst must be a number of calls of at least 1 (got "5")'],
  [{ dataDir: "" }, 'dataDir must be the path of a folder (got "")'],
  [{ host: 5 }, "host must be the address to listen on, such as 127.0.0.1 (got 5)"],
  [{ host: "" }, 'host must be the address to listen on, such as 127.0.0.1 (got "")'],
  [{ admin: "no" }, 'admin must be true or false (got "no")'],
  [
    { adminNames: "node" },
    "adminNames must be an array of hostnames without ports, such as node.example (got a string)",
  ],
  [
    { adminNames: ["node:3008"] },
    'adminNames[0] must be an array of hostnames without ports, such as node.example (got "node:3008")',
  ],
  [{ onFailure: 5 }, "onFailure must be a function (got 5)"],
  [{ signal: { aborted: true } }, "signal must be an AbortSignal (got an object)"],
  [{ profile: "deploid" }, 'profile must be specification or deployed (got "deploid")'],
  [null, "options must be an object of options, such as { activity: 2 } (got null)"],
  [[], "options must be an object of options, such as { activity: 2 } (got an array)"],
  [new Map(), "options must be an object of options, such as { activity: 2 } (got a Map)"],
  ["deployed", "options must be an object of options, such as { activity: 2 } (got a string)"],
])("%j is refused: %s", async (given, summary) => {
  expect((await refusalOf(given)).summary).toBe(summary);
});

it.each([
  [{ blockMS: 0 }, 'unknown option "blockMS" in options', "Did you mean blockMs? Valid options: host, grpcPort, "],
  [{ chain_id: "x" }, 'unknown option "chain_id" in options', "Did you mean chainId? Valid options: "],
  [
    { rateLimit: { brust: 5 } },
    'unknown field "brust" in rateLimit',
    "Did you mean burst? Valid fields: burst, perSecond",
  ],
  [{ genesis: { trade: [] } }, 'unknown field "trade" in genesis', "Did you mean trades? Valid fields: balances, "],
  [JSON.parse('{"__proto__":{"admin":true}}'), 'unknown option "__proto__" in options', "Valid options: host, "],
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
  commitDelayMs: isWhole,
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
      const { summary } = await refusalOf({ [option]: value });
      expect(summary).toMatch(new RegExp(`^${option} must be [^\\n]+$`));
    }),
  );
});

it("every option that there is not is refused", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1 }).filter((name) => !Object.hasOwn(fits, name)),
      async (name) => {
        const { summary } = await refusalOf({ segments: 1, [name]: 1 });
        expect(summary).toContain("unknown option ");
      },
    ),
  );
});
