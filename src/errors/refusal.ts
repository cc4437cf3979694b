/**
 * Why the network refused a transaction, as far as the caller has to react in another way:
 *
 * - `duplicate`: the network has this very transaction, or one with its `tid` or nonce. An earlier submission was taken.
 * - `seen`: the node has seen its `tid` before: it was submitted, or only checked, or refused for a wrong proof of work.
 * - `expired`: the block that it is tied to is too old, or not known. It cannot be taken any more; an earlier submission
 *   may have been.
 * - `spam`: a limit against spam. Nothing of it was taken.
 * - `spam-unknown`: refused as spam in words that are not known. An earlier submission may have been taken.
 * - `profile`: the node reads input data in another form than the one that was submitted.
 * - `invalid`: the transaction or its command breaks a rule. Nothing of it was taken.
 * - `not-executable`: the command is valid, but cannot be executed as things are: no such market, no funds.
 */
export type Refusal =
  | "duplicate"
  | "seen"
  | "expired"
  | "spam"
  | "spam-unknown"
  | "profile"
  | "invalid"
  | "not-executable";

/** The codes of refused transactions (core/blockchain/response.go of v0.78.0). */
const INVALID_CODE = 51;
const DECODING_CODE = 60;
const NOT_EXECUTABLE_CODE = 70;
const UNKNOWN_COMMAND_CODE = 80;
const SPAM_CODE = 89;
const REFUSALS: readonly number[] = [INVALID_CODE, DECODING_CODE, NOT_EXECUTABLE_CODE, UNKNOWN_COMMAND_CODE, SPAM_CODE];

/** A reason in a refusal: the path of a field in Protobuf's JSON, empty where none is named, and what is wrong with it. */
interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * The texts of code 89, which are those of core/pow/engine.go, core/processor/abci.go and core/spam/ of v0.78.0. The paths
 * are those of nodes that give their reasons by field.
 */
const SPAM_TEXTS: readonly { readonly refusal: Refusal; readonly path?: RegExp; readonly message: RegExp }[] = [
  {
    refusal: "duplicate",
    message: /^transaction hash already used|^delayed transaction already included|\bnonce already used\b/i,
  },
  { refusal: "duplicate", message: /\b(tid|transaction id) already used\b/i },
  { refusal: "seen", message: /\btid already seen\b/i },
  { refusal: "expired", message: /\btoo old\b|\bunknown block height\b/i },
  { refusal: "duplicate", path: /^tx\.(pow\.tid|inputData\.nonce)$/, message: /^was used/ },
  { refusal: "expired", path: /^tx\.inputData\.blockHeight$/, message: /not one of the blocks/ },
  { refusal: "spam", message: /^failed to verify proof of work/ },
  { refusal: "spam", message: /^party has insufficient associated governance tokens in their staking account/ },
  { refusal: "spam", message: /^party has already (submitted|voted) the maximum number/ },
  { refusal: "spam", path: /^tx\./, message: /^is / },
];

/** What a node says that cannot read the form of the input data: the chain's identifier is, or is not, in front of it. */
const OTHER_FORM = /^couldn't unmarshall input data|^must not begin, as it is submitted|^has to begin with the chain's/;

/**
 * Tells whether a v0.78.0 node refuses transactions with a code. Any other code proves nothing: the node may have taken
 * the transaction.
 *
 * @param code the code of a submission result
 * @returns whether it is the code of a refusal
 */
export function isRefusalCode(code: number): boolean {
  return REFUSALS.includes(code);
}

/**
 * Tells why a transaction was refused.
 *
 * @param code the code of the submission result
 * @param problems the reasons in its data
 * @returns the kind of refusal; a code 89 whose text is not known is `spam-unknown`
 */
export function refusalOf(code: number, problems: readonly Problem[]): Refusal {
  if (code === SPAM_CODE) {
    const kinds = problems.map(
      (problem) =>
        SPAM_TEXTS.find(({ path, message }) => {
          const isPath = path === undefined ? problem.path === "" : path.test(problem.path);
          return isPath && message.test(problem.message);
        })?.refusal ?? "spam-unknown",
    );
    return kinds.find((kind) => kind !== "spam") ?? kinds[0] ?? "spam-unknown";
  }
  if (code === NOT_EXECUTABLE_CODE) {
    return "not-executable";
  }
  const isOtherForm = problems.some(({ path, message }) => path === "tx.inputData" && OTHER_FORM.test(message));
  // Where a prefix happens to be readable as fields, what is missing is the command.
  const isWithoutCommand = problems.some(
    ({ path, message }) => path === "tx.inputData.command" && message === "is required",
  );
  return code === DECODING_CODE && (isOtherForm || isWithoutCommand) ? "profile" : "invalid";
}

/**
 * Tells whether an earlier submission of a refused transaction may have been taken.
 *
 * @param refusal why it was refused
 * @param isFirst whether it was signed just now and had not been sent before
 * @returns whether that cannot be ruled out
 */
export function mayHaveBeenTaken(refusal: Refusal, isFirst: boolean): boolean {
  if (refusal === "expired" && isFirst) {
    return false;
  }
  return refusal === "duplicate" || refusal === "seen" || refusal === "expired" || refusal === "spam-unknown";
}
