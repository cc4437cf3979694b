// Requests that do not depend on what the network holds: empty ones, identifiers that nobody has or that are none, and
// wrong pages. Over gRPC and REST they are refused alike.
import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { ProtocolError, RequestError } from "tradewire";
import { CoreService, CoreStateService, TradingDataService } from "tradewire/api";
import { ask } from "./asking.mjs";

/** Methods without a request to vary, or that must not be called with wrong ones. */
const LEFT_OUT = new Set([
  "submitTransaction",
  "submitRawTransaction",
  "propagateChainEvent",
  "checkTransaction",
  "checkRawTransaction",
]);

const UNKNOWN = "e".repeat(64);
const BASE64_OF_NOTHING = Buffer.from("{}").toString("base64");

/** Wrong pages, by their names. */
const PAGES = {
  "first 0": { first: 0 },
  "first 6000": { first: 6000 },
  "first and last": { first: 1, last: 1 },
  "last 2": { last: 2 },
  "oldest first": { newestFirst: false },
  "cursor that is not base64": { first: 1, after: "***" },
  "foreign cursor": { first: 1, after: BASE64_OF_NOTHING },
  "both cursors": { first: 1, after: BASE64_OF_NOTHING, before: BASE64_OF_NOTHING },
};

/** Fields that hold identifiers. */
const IDENTIFIER = /^(id|party|market|asset|node|proposal|proposer|pubkey|referrer|referee|.*Id)$/;

/** The number of a field of text. */
const TEXT = 9;

/** Make the cases: one for each method. */
export function wrongRequestCases({ network, report }) {
  const { grpc, rest, coreGrpc, coreRest } = network.clients;
  const counts = { answers: 0, errors: 0, differing: 0 };

  async function check(method, signal) {
    const isData = method.parent === TradingDataService;
    const [overGrpc, overRest] = isData ? [grpc, rest] : [coreGrpc, coreRest];
    const differing = [];
    for (const [variant, request] of variantsOf(method)) {
      const message = create(method.input, request);
      const answer = await ask(overGrpc, method, message, { signal });
      const other = await ask(overRest, method, message, { signal }).catch((error) => {
        // Some requests cannot be written as a path or a query: the client says so, or the gateway does.
        if (error instanceof RequestError || error instanceof ProtocolError) {
          return undefined;
        }
        throw error;
      });
      counts[answer.error === undefined ? "answers" : "errors"] += 1;
      if (other !== undefined && kindOf(other) !== kindOf(answer)) {
        differing.push(`${variant}: gRPC ${kindOf(answer)}, REST ${kindOf(other)}`);
      }
    }
    counts.differing += differing.length;
    assert.deepEqual(differing, []);
  }

  const methods = [TradingDataService, CoreService, CoreStateService].flatMap((service) => service.methods);
  const cases = methods
    .filter(({ localName, methodKind }) => methodKind === "unary" && !LEFT_OUT.has(localName))
    .filter((method) => variantsOf(method).length > 0)
    .map((method) => ({
      group: "wrong requests",
      name: `${method.parent.name}.${method.localName}`,
      check: (signal) => check(method, signal),
    }));
  const last = {
    group: "wrong requests",
    name: "what was answered",
    async check() {
      const { answers, errors, differing } = counts;
      report.figure(
        "wrong requests",
        `${answers + errors}: ${answers} answers, ${errors} errors, ${differing} others over REST`,
      );
    },
  };
  return [...cases, last];
}

/** The requests of a method: `[name, request]`. */
function variantsOf({ input }) {
  const names = input.fields
    .filter(({ localName, scalar }) => scalar === TEXT && IDENTIFIER.test(localName))
    .map(({ localName }) => localName);
  const hasPages = input.fields.some(({ localName }) => localName === "pagination");
  const variants = names.length > 0 ? [["empty", {}]] : [];
  for (const name of names) {
    variants.push([`unknown ${name}`, { [name]: UNKNOWN }], [`${name} that is none`, { [name]: "zz" }]);
  }
  const pages = hasPages ? Object.entries(PAGES).map(([name, pagination]) => [name, { pagination }]) : [];
  return [...variants, ...pages];
}

/** What a call came to, in short. */
function kindOf({ error }) {
  return error === undefined ? "an answer" : `${error.code} ${error.message} ${JSON.stringify(error.details ?? [])}`;
}
