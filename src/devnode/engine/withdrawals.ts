import { create } from "@bufbuild/protobuf";
import type { WithdrawSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import { AccountType, TransferType, Withdrawal_Status, WithdrawalSchema } from "../../../gen/vega/vega_pb.js";
import { emitMovements, moveFunds } from "./funds.js";
import { balanceOf, generalAccount, networkAccount, openGeneralAccount } from "./ledger.js";
import type { Work } from "./state.js";

/**
 * Withdraw an amount (`core/banking`). One of a built-in asset is finalized at once; one of an asset on Ethereum stays open,
 * for the local node has no bridge that pays it out.
 *
 * @param work the block
 * @param partyId who withdraws
 * @param command the amount
 * @param id the identifier of the withdrawal
 * @returns why nothing was withdrawn, if so
 */
export function withdraw(work: Work, partyId: string, command: WithdrawSubmission, id: string): string | undefined {
  const { state, block, emit } = work;
  const { withdrawals } = state.registers;
  const assetId = command.asset.toLowerCase();
  const asset = state.assets.get(assetId);
  if (asset === undefined) {
    return "asset does not exist";
  }
  openGeneralAccount(work, partyId, assetId);
  const from = generalAccount(partyId, assetId);
  const amount = BigInt(command.amount);
  const isPaid = balanceOf(state, from) >= amount;
  const isBuiltin = asset.details?.source.case === "builtinAsset";
  if (isPaid) {
    const to = networkAccount(AccountType.EXTERNAL, assetId, "");
    emitMovements(work, moveFunds(work, [{ from, to, amount, type: TransferType.WITHDRAW }]));
  }
  const status = !isPaid
    ? Withdrawal_Status.REJECTED
    : isBuiltin
      ? Withdrawal_Status.FINALIZED
      : Withdrawal_Status.OPEN;
  const withdrawal = create(WithdrawalSchema, {
    ...{ id, partyId, asset: assetId, amount: command.amount, status, createdTimestamp: block.time },
    ref: String(block.time / 1_000_000_000n + BigInt(withdrawals.size)),
    ...(command.ext !== undefined && !isBuiltin && { ext: command.ext }),
  });
  withdrawals.set(id, withdrawal);
  emit({ case: "withdrawal", value: withdrawal });
  return isPaid ? undefined : "not enough funds to withdraw";
}
