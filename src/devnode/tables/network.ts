import type { Block } from "../world/event.js";
import { amount, type Fields, type FieldsOf, origin, sequence } from "./fields.js";

/** What a block says for the table of blocks. */
export const blockFields = ({ time, height, hash }: Block): Fields => ({ vega_time: time, height, hash });

export const blocks: FieldsOf = ({ block, event }) => (event.case === "beginBlock" ? [blockFields(block)] : []);

export const checkpoints: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "checkpoint") {
    return [];
  }
  const { hash, blockHash, blockHeight } = event.value;
  return [{ hash, block_hash: blockHash, block_height: blockHeight, ...origin(happening), ...sequence(happening) }];
};

export const delegations: FieldsOf = (happening) => {
  const { event } = happening;
  if (event.case !== "delegationBalance") {
    return [];
  }
  const { party, nodeId, epochSeq, amount: delegated } = event.value;
  return [
    {
      party_id: party,
      node_id: nodeId,
      epoch_id: amount(epochSeq),
      amount: amount(delegated),
      ...origin(happening),
      ...sequence(happening),
    },
  ];
};
