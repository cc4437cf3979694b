import type { Profile } from "../../schema/profile.js";
import type { NetworkProblem, Problem } from "../../transaction/check/index.js";

/** The code of refusals for spam, and the one that deployed nodes have for all others. */
const SPAM = 89;
const OTHER = 60;

/** What a submission or a check comes to. */
export interface SubmissionResult {
  readonly success: boolean;
  readonly code: number;
  readonly data: string;
  readonly log: string;
}

/**
 * Tell a refusal as the result of a submission.
 *
 * By the specification (2.6), `data` is a JSON object, problems by the path of the field. Deployed nodes give plain
 * text, as `order_submission.size (size is too large)`, and know two codes.
 *
 * @param refusal the code and the problems; `undefined` where the transaction was taken
 * @param profile whose form the result has
 * @returns the result
 */
export function outcome(
  refusal: { readonly code: number; readonly problems: readonly (Problem | NetworkProblem)[] } | undefined,
  profile: Profile,
): SubmissionResult {
  if (refusal === undefined) {
    return { success: true, code: 0, data: "", log: "" };
  }
  const { code, problems } = refusal;
  if (profile === "deployed") {
    return code === SPAM
      ? { success: false, code: SPAM, data: problems.map(spamText).join(", "), log: "" }
      : { success: false, code: OTHER, data: plainText(problems), log: "" };
  }
  const data = JSON.stringify(Object.fromEntries(byPath(problems)));
  const log = problems.map(({ path, message }) => `${path} ${message}`).join("; ");
  return { success: false, code, data, log };
}

function byPath(problems: readonly Problem[]): Map<string, readonly string[]> {
  const reasons = new Map<string, readonly string[]>();
  for (const { path, message } of problems) {
    reasons.set(path, [...(reasons.get(path) ?? []), message]);
  }
  return reasons;
}

function plainText(problems: readonly (Problem | NetworkProblem)[]): string {
  const named = problems.map((problem) => ({
    path: "property" in problem ? problem.property : fieldName(problem.path),
    message: problem.message,
  }));
  const reasons = [...byPath(named)].map(([name, messages]) => `${name} (${messages.join(", ")})`);
  return reasons.toSorted().join(", ");
}

/** The path of a field as deployed nodes write it: `stopOrdersSubmission.risesAbove` is `stop_orders_submission.rises_above`. */
function fieldName(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What deployed nodes say of spam. They name no field. */
function spamText({ path, message }: Problem): string {
  switch (path) {
    case "tx.pow.tid":
      return message.startsWith("was used")
        ? "proof of work tid already seen by the node"
        : "failed to verify proof of work";
    case "tx.pow.nonce":
      return "failed to verify proof of work";
    case "tx.inputData.nonce":
      return "nonce already used by party";
    case "tx.inputData.blockHeight":
      return message.includes("not one of the blocks") ? "unknown block height" : message;
    default:
      return `${fieldName(path)} (${message})`;
  }
}
