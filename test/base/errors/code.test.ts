import { Code as ConnectCode } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { Code } from "tradewire";

// The codes of gRPC's status (github.com/grpc/grpc, doc/statuscodes.md), as Connect has them.
it("codes have the numbers and names of Connect's", () => {
  expect(Code).toEqual({ ...ConnectCode });
});
