import type { ProposalSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { Problem } from "../../trade/transaction/check/index.js";

const REQUIRED = "is required";
const POSITIVE = "must be positive";

/** Checks the form of a proposal, as far as the local node uses it (`commands/proposal_submission.go`). */
export function proposalProblems({ terms }: ProposalSubmission): readonly Problem[] {
  const path = "proposalSubmission.terms";
  if (terms === undefined || terms.change.case === undefined) {
    return [{ path: terms === undefined ? path : `${path}.change`, message: REQUIRED }];
  }
  const { change, closingTimestamp, enactmentTimestamp } = terms;
  const problems: Problem[] = [];
  const check = (isRight: boolean, field: string, message: string) => {
    if (!isRight) {
      problems.push({ path: `${path}.${field}`, message });
    }
  };
  switch (change.case) {
    case "newMarket":
    case "updateMarket":
    case "updateNetworkParameter":
      check(closingTimestamp > 0n, "closingTimestamp", POSITIVE);
      check(enactmentTimestamp > 0n, "enactmentTimestamp", POSITIVE);
      check(closingTimestamp <= enactmentTimestamp, "closingTimestamp", "cannot be after enactment time");
      check(change.value.changes !== undefined, `change.${change.case}.changes`, REQUIRED);
  }
  if (change.case === "newMarket") {
    const decimals = change.value.changes?.positionDecimalPlaces ?? 0n;
    const field = "change.newMarket.changes.positionDecimalPlaces";
    check(decimals > -7n && decimals < 7n, field, "must be between -7 and 7");
  }
  return problems;
}
