// Creates and encodes a message.
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { vega } from "tradewire/api";

export default async function run() {
  const { OrderSchema, Side } = vega;
  const bytes = toBinary(OrderSchema, create(OrderSchema, { id: "ab".repeat(32), side: Side.SELL, size: 2n ** 63n }));
  return { bytes: [...bytes], read: toJson(OrderSchema, fromBinary(OrderSchema, bytes)) };
}
