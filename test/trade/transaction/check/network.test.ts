import { readFileSync } from "node:fs";
import { create, fromBinary, fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { commandProblems } from "tradewire";
import { SignatureSchema } from "tradewire/gen/vega/commands/v1/signature_pb.js";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { ValidatorHeartbeatSchema } from "tradewire/gen/vega/commands/v1/validator_commands_pb.js";
import { haltingProblem, networkProblems } from "./inside.js";

/** What v0.78.0's own check of a command says, for each of its rules and for commands that keep them all. */
const { cases }: { cases: { kind: string; inputData: string; error: string }[] } = JSON.parse(
  readFileSync("test/network/recorded/command-checks.json", "utf8"),
);
const kinds = [...new Set(cases.map(({ kind }) => kind))];

function commandOf(inputData: string) {
  const { command } = fromBinary(InputDataSchema, Buffer.from(inputData, "base64"));
  if (command.case === undefined) {
    throw new Error("no command");
  }
  return command;
}

/** Writes problems as the network does: by field, the fields in the order of their texts. */
function textOf(problems: ReturnType<typeof networkProblems>): string {
  const properties = [...new Set(problems.map(({ property }) => property))];
  const messages = (name: string) => problems.filter(({ property }) => property === name).map(({ message }) => message);
  const texts = properties.map((name) => `${name} (${messages(name).join(", ")})`);
  return texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).join(", ");
}

it("every kind of command is recorded but those that the node alone checks: of governance, validators and oracles", () => {
  const all = InputDataSchema.oneofs.flatMap(({ fields }) => fields.map(({ localName }) => localName));
  expect(all.filter((kind) => !kinds.includes(kind))).toEqual([
    "proposalSubmission",
    "announceNode",
    "batchProposalSubmission",
    "nodeVote",
    "nodeSignature",
    "chainEvent",
    "keyRotateSubmission",
    "stateVariableProposal",
    "validatorHeartbeat",
    "ethereumKeyRotateSubmission",
    "protocolUpgradeProposal",
    "issueSignatures",
    "oracleDataSubmission",
  ]);
});

it("a heartbeat of a validator needs its signature, without which a node that checks it fails", () => {
  const heartbeat = { case: "validatorHeartbeat", value: create(ValidatorHeartbeatSchema, { nodeId: "ab" }) } as const;
  const path = "validatorHeartbeat.vegaSignature";
  expect(commandProblems(heartbeat)).toEqual([{ path, message: expect.stringContaining("fails") }]);
  heartbeat.value.vegaSignature = create(SignatureSchema, { value: "ab", algo: "vega/ed25519", version: 1 });
  expect(commandProblems(heartbeat)).toEqual([]);
});

it("a transfer may end in the epoch in which it begins, by commands/transfer_funds.go", () => {
  const lasting = (startEpoch: string, endEpoch: string) => {
    const transfer = {
      fromAccountType: "ACCOUNT_TYPE_GENERAL",
      to: "ab".repeat(32),
      toAccountType: "ACCOUNT_TYPE_GENERAL",
      asset: "cd".repeat(32),
      amount: "1",
      recurring: { startEpoch, endEpoch, factor: "1" },
    };
    const { command } = fromJson(InputDataSchema, { transfer });
    return command.case === undefined ? "no command" : textOf(networkProblems(command));
  };
  expect(lasting("7", "7")).toBe("");
  expect(lasting("7", "6")).toBe("transfer.kind.end_epoch (must be after start_epoch)");
});

describe.each(kinds)("%s", (kind) => {
  const recorded = cases.filter((one) => one.kind === kind);

  it("is refused in the network's words", () => {
    for (const { inputData, error } of recorded) {
      expect(textOf(networkProblems(commandOf(inputData)))).toBe(error);
    }
  });

  it("has problems where the network refuses it", () => {
    const taken = recorded.filter(({ inputData, error }) => {
      return error !== "" && commandProblems(commandOf(inputData)).length === 0;
    });
    expect(taken).toEqual([]);
  });

  it("has no problem where it is right, unless it stops the network", () => {
    const refused = recorded.filter(({ inputData, error }) => {
      const command = commandOf(inputData);
      return error === "" && haltingProblem(command) === undefined && commandProblems(command).length > 0;
    });
    expect(refused).toEqual([]);
  });
});

describe("an exponent", () => {
  const problems = (marginFactor: string) => {
    const updateMarginMode = { marketId: "ab".repeat(32), mode: "MODE_ISOLATED_MARGIN", marginFactor };
    const { command } = fromJson(InputDataSchema, { updateMarginMode });
    return command.case === undefined ? "no command" : textOf(networkProblems(command));
  };

  it.each(["1e3", "1E-3", "1e100000", "1e-100000"])("of %s is taken", (marginFactor) => {
    expect(problems(marginFactor)).toBe("");
  });

  // By libs/num/decimal.go, numbers are compared with all of their digits.
  it.each(["1e100001", "1e-100001", "1e2147483647"])("of %s would keep a node busy", (marginFactor) => {
    expect(problems(marginFactor)).toBe("update_margin_mode.margin_factor (is not a valid number)");
  });
});
