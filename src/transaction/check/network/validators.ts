import { OracleDataSubmission_OracleSource } from "../../../../gen/client/vega/commands/v1/data_pb.js";
import { NodeSignatureKind } from "../../../../gen/client/vega/commands/v1/validator_commands_pb.js";
import type { IssueSignatures } from "../../../../gen/vega/commands/v1/commands_pb.js";
import type { OracleDataSubmission } from "../../../../gen/vega/commands/v1/data_pb.js";
import type { Signature } from "../../../../gen/vega/commands/v1/signature_pb.js";
import type {
  AnnounceNode,
  ChainEvent,
  EthereumKeyRotateSubmission,
  KeyRotateSubmission,
  NodeSignature,
  NodeVote,
  ProtocolUpgradeProposal,
  StateVariableProposal,
  ValidatorHeartbeat,
} from "../../../../gen/vega/commands/v1/validator_commands_pb.js";
import {
  atMostBytes,
  type Field,
  isEthereumAddress,
  isHex,
  MESSAGE,
  type NetworkProblems,
  required,
  requiredEnum,
  requiredId,
} from "./network-rules.js";

/** Checks the announcement of a validator's node (`commands/announce_node.go`). */
export function* announceNodeProblems(command: AnnounceNode, at: Field): NetworkProblems {
  yield* requiredId(at.field("vegaPubKey"), command.vegaPubKey, MESSAGE.publicKey);
  yield* requiredId(at.field("id"), command.id, MESSAGE.publicKey);
  yield* requiredAddress(at.field("ethereumAddress"), command.ethereumAddress);
  yield* required(at.field("chainPubKey"), command.chainPubKey);
  yield* signatureProblems(at.field("ethereumSignature"), command.ethereumSignature);
  yield* signatureProblems(at.field("vegaSignature"), command.vegaSignature);
  yield* optionalAddress(at.field("submitterAddress"), command.submitterAddress);
}

/** Checks a validator's vote on an event (`commands/node_vote.go`). */
export function* nodeVoteProblems({ reference }: NodeVote, at: Field): NetworkProblems {
  yield* required(at.field("reference"), reference);
  yield* atMostBytes(at.field("reference"), reference, 1000, MESSAGE.referenceTooLong);
}

/** Checks a validator's signature (`commands/node_signature.go`). */
export function* nodeSignatureProblems(command: NodeSignature, at: Field): NetworkProblems {
  yield* required(at.field("id"), command.id);
  yield* required(at.field("sig"), command.sig);
  yield* requiredEnum(at.field("kind"), command.kind, NodeSignatureKind);
}

/** Checks an event of another chain (`commands/chain_event.go`). */
export function* chainEventProblems({ event, txId }: ChainEvent, at: Field): NetworkProblems {
  if (event.case === "builtin") {
    return;
  }
  if (event.case === undefined) {
    yield at.field("event").problem(MESSAGE.required);
  }
  yield* required(at.field("txId"), txId);
}

/** Checks the rotation of a validator's key (`commands/key_rotate_submission.go`). */
export function* keyRotationProblems(command: KeyRotateSubmission, at: Field): NetworkProblems {
  yield* required(at.field("newPubKey"), command.newPubKey);
  yield* required(at.field("currentPubKeyHash"), command.currentPubKeyHash);
  yield* requiredNumber(at.field("newPubKeyIndex"), command.newPubKeyIndex);
  yield* requiredNumber(at.field("targetBlock"), command.targetBlock);
}

/** Checks the rotation of a validator's Ethereum key (`commands/ethereum_key_rotate_submission.go`). */
export function* ethereumKeyRotationProblems(command: EthereumKeyRotateSubmission, at: Field): NetworkProblems {
  yield* requiredAddress(at.field("newAddress"), command.newAddress);
  yield* requiredAddress(at.field("currentAddress"), command.currentAddress);
  yield* requiredNumber(at.field("targetBlock"), command.targetBlock);
  if (command.ethereumSignature === undefined) {
    yield at.field("ethereumSignature", "signature").problem(MESSAGE.required);
  }
  yield* optionalAddress(at.field("submitterAddress"), command.submitterAddress);
}

/** Checks a validator's value of a state variable (`commands/state_var_proposal_submission.go`). */
export function* stateVariableProblems({ proposal }: StateVariableProposal, at: Field): NetworkProblems {
  const { property } = at;
  const inside = at.field("proposal");
  if (proposal === undefined) {
    yield inside.named(`${property}.missing_proposal`).problem(MESSAGE.required);
    return;
  }
  yield* required(inside.field("eventId").named(`${property}.event_id`), proposal.eventId);
  yield* required(inside.field("stateVarId").named(`${property}.state_var_id`), proposal.stateVarId);
  const bundle = inside.field("kvb").named(`${property}.key_value_bundle`);
  yield* required(bundle, proposal.kvb);
  for (const [index, { key, value }] of proposal.kvb.entries()) {
    yield* required(bundle.item(index).field("key"), key);
    if (value === undefined) {
      yield bundle.item(index).field("value").problem(MESSAGE.required);
    }
  }
}

/** Checks a validator's heartbeat (`commands/validator_heartbeat.go`). */
export function* heartbeatProblems(command: ValidatorHeartbeat, at: Field): NetworkProblems {
  yield* requiredId(at.field("nodeId"), command.nodeId, MESSAGE.publicKey);
  for (const name of ["ethereumSignature", "vegaSignature"] as const) {
    const { value = "" } = command[name] ?? {};
    const field = at.field(name).field("value");
    yield* required(field, value);
    yield* hexProblems(field, value);
  }
  yield* required(at.field("vegaSignature").field("algo"), command.vegaSignature?.algo ?? "");
}

/** Checks the proposal of a protocol upgrade (`commands/protocol_upgrade_proposal.go`). */
export function* upgradeProblems({ vegaReleaseTag }: ProtocolUpgradeProposal, at: Field): NetworkProblems {
  yield* required(at.field("vegaReleaseTag"), vegaReleaseTag);
}

/** Checks the request to issue signatures for the bridge to another chain (`commands/issue_signatures.go`). */
export function* issueSignaturesProblems(command: IssueSignatures, at: Field): NetworkProblems {
  const { ERC20_MULTISIG_SIGNER_ADDED, ERC20_MULTISIG_SIGNER_REMOVED } = NodeSignatureKind;
  yield* required(at.field("validatorNodeId"), command.validatorNodeId);
  yield* requiredAddress(at.field("submitter"), command.submitter);
  if (command.kind !== ERC20_MULTISIG_SIGNER_ADDED && command.kind !== ERC20_MULTISIG_SIGNER_REMOVED) {
    yield at.field("kind").problem(MESSAGE.notValid);
  }
  yield* required(at.field("chainId"), command.chainId);
}

/** Checks oracle data (`commands/oracle_data_submission.go`). */
export function* oracleDataProblems({ payload, source }: OracleDataSubmission, at: Field): NetworkProblems {
  yield* required(at.field("payload"), payload);
  yield* requiredEnum(at.field("source"), source, OracleDataSubmission_OracleSource);
}

function* requiredAddress(at: Field, address: string): NetworkProblems {
  yield* required(at, address);
  yield* optionalAddress(at, address);
}

function* optionalAddress(at: Field, address: string): NetworkProblems {
  if (address !== "" && !isEthereumAddress(address)) {
    yield at.problem(MESSAGE.ethereumAddress);
  }
}

function* signatureProblems(at: Field, signature: Signature | undefined): NetworkProblems {
  const { value = "" } = signature ?? {};
  yield* required(at, value);
  yield* hexProblems(at.field("value"), value);
}

function* hexProblems(at: Field, value: string): NetworkProblems {
  if (!isHex(value)) {
    yield at.problem(MESSAGE.hex);
  }
}

function* requiredNumber(at: Field, value: number | bigint): NetworkProblems {
  if (Number(value) === 0) {
    yield at.problem(MESSAGE.required);
  }
}
