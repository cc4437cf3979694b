// @grpc/grpc-js with @grpc/proto-loader, as the documentation has it.
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import { KEY, makeCalls } from "./support.mjs";

const root = fileURLToPath(new URL("../../proto", import.meta.url));
const options = { includeDirs: [root], keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const definition = loader.loadSync("datanode/api/v2/trading_data.proto", options);
const { TradingDataService } = grpc.loadPackageDefinition(definition).datanode.api.v2;

const open = ({ url }) => new TradingDataService(new URL(url).host, grpc.credentials.createInsecure());

export async function bytes(args) {
  let bytes = 0;
  for await (const { data } of open(args).ExportNetworkHistory({})) {
    bytes += data.length;
  }
  return bytes;
}

export async function calls(args) {
  const client = open(args);
  const call = () =>
    new Promise((resolve, reject) => {
      client.GetNetworkParameter(KEY, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  return makeCalls(args, call);
}
