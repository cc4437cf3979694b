import { create } from "@bufbuild/protobuf";
import type { Transfer } from "../../../gen/vega/commands/v1/commands_pb.js";
import { Transfer_Status, TransferSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { balanceOf, beginTransfers, generalAccount, networkAccount, openGeneralAccount } from "./ledger.js";
import type { Work } from "./state.js";

/**
 * Transfer an amount between the general accounts of two parties, once and at once, without a fee. A transfer of more than
 * the sender has is told as rejected. A receiver without an account is given one, with what parties begin with.
 *
 * @param work the block
 * @param partyId the sender
 * @param transfer the transfer
 * @param id its identifier
 * @returns why nothing was done, if so: also for other kinds of transfer, which the local node does not carry out
 */
export function transferOnce(work: Work, partyId: string, transfer: Transfer, id: string): string | undefined {
  const { kind, fromAccountType, toAccountType, amount } = transfer;
  const [asset, to] = [transfer.asset.toLowerCase(), transfer.to.toLowerCase()];
  const isGeneral = fromAccountType === AccountType.GENERAL && toAccountType === AccountType.GENERAL;
  const isNow = kind.case === "oneOff" && kind.value.deliverOn <= work.block.time;
  if (!isGeneral || !isNow || transfer.from !== undefined) {
    return "the local node carries out transfers between general accounts that are one-off and at once, and no others";
  }
  if (!work.assets.has(asset)) {
    return `there is no asset ${asset}`;
  }
  openGeneralAccount(work, partyId, asset);
  const sender = generalAccount(partyId, asset);
  const balance = balanceOf(work.state, sender);
  const reason = balance < BigInt(amount) ? `the general account holds ${balance}, not ${amount}` : undefined;
  if (reason === undefined) {
    openGeneralAccount(work, to, asset);
    const pending = networkAccount(AccountType.PENDING_TRANSFERS, asset, "");
    const transfers = beginTransfers(work);
    transfers.move(sender, pending, BigInt(amount), TransferType.TRANSFER_FUNDS_SEND);
    transfers.move(pending, generalAccount(to, asset), BigInt(amount), TransferType.TRANSFER_FUNDS_DISTRIBUTE);
    transfers.finish();
  }
  work.emit({
    case: "transfer",
    value: create(TransferSchema, {
      id,
      from: partyId,
      fromAccountType,
      to,
      toAccountType,
      asset,
      amount,
      reference: transfer.reference.replaceAll("\0", ""),
      status: reason === undefined ? Transfer_Status.DONE : Transfer_Status.REJECTED,
      timestamp: work.block.time,
      ...(reason !== undefined && { reason }),
      kind: { case: "oneOff", value: { deliverOn: kind.value.deliverOn } },
    }),
  });
  return reason;
}
