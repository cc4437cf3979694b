import Sequencer from "@jest/test-sequencer";

/** The files that take longest. Where they came last, they would run alone. */
const LONGEST = [
  // Not long, but first: it counts calls of a method of V8's, which a worker that has optimized the callers makes unseen.
  "transport/grpc/large-messages",
  "contract/contract",
  "contract/conversation",
  "cli/call",
  "sync/sinks/duck-contract",
  "cli/devnode-controls",
  "cli/transactions",
  "history/error-behind",
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
