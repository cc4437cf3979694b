import Sequencer from "@jest/test-sequencer";

/** The files that take longest. Where they came last, they would run alone. */
const LONGEST = [
  // Not long, but first: it counts calls of a method of V8's, which a worker that has optimized the callers makes unseen.
  "wire/transport/grpc/large-messages",
  // Of the quick tier.
  "sync/sinks/duck-contract",
  "trade/live/outcome-doubts",
  "contract/contract",
  "wire/transport/observing",
  "contract/conversation",
  "wire/transport/grpc/grpc-call.response",
  "cli/outcomes",
  "node/failure-injection",
  "wire/transport/limits",
  "data/history/resume",
  "trade/live/follow",
  "sync/surveyor",
  "wire/transport/rate-limit",
  "sync/sinks/duck",
  "network/listings",
  "data/listing/listings",
  "network/local-commands",
  // Of the slower one.
  "node/checkpoint.full",
  "docs/programs.full",
  "examples/stop-order-bot.full",
  "wire/transport/broken-sessions.full",
  "data/archive/open-writers.full",
  "contract/contract.full",
  "sync/sinks/duck-contract.full",
  "contract/conversation.full",
  "node/gateway-websocket.full",
];

/** Runs the longest files first, the others as Jest orders them. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return index < 0 ? LONGEST.length : index;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}
