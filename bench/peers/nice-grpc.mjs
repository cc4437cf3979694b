// nice-grpc, with a definition for protobuf-es's messages.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createChannel, createClient } from "nice-grpc";
import { TradingDataService } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { KEY, makeCalls } from "./support.mjs";

const { exportNetworkHistory, getNetworkParameter } = TradingDataService.method;
const definition = {
  exportNetworkHistory: define(exportNetworkHistory, true),
  getNetworkParameter: define(getNetworkParameter, false),
};

function define({ parent, name, input, output }, responseStream) {
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: (message) => toBinary(input, create(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => toBinary(output, create(output, message)),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
    options: {},
  };
}

const open = ({ url }) => createClient(definition, createChannel(new URL(url).host));

export async function bytes(args) {
  let bytes = 0;
  for await (const { data } of open(args).exportNetworkHistory({})) {
    bytes += data.length;
  }
  return bytes;
}

export async function calls(args) {
  const client = open(args);
  return makeCalls(args, () => client.getNetworkParameter(KEY));
}
