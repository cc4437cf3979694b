// Clients of HTTP/1.1, each as its documentation reads a body.
import { Agent, get, request as httpRequest } from "node:http";
import { buffer } from "node:stream/consumers";
import { fromJson } from "@bufbuild/protobuf";
import { GetNetworkParameterResponseSchema } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { count, EXPORT_PATH, makeCalls, PARAMETER_PATH } from "./support.mjs";

export async function fetchBytes({ url }) {
  const { body } = await fetch(url + EXPORT_PATH);
  return count(body);
}

export async function undiciBytes({ url }) {
  const { request } = await import("undici");
  return async function run() {
    const { body } = await request(url + EXPORT_PATH);
    return count(body);
  };
}

export async function gotBytes({ url }) {
  const { got } = await import("got");
  return () => count(got.stream(url + EXPORT_PATH));
}

export async function httpBytes({ url }) {
  const response = await new Promise((resolve, reject) => get(url + EXPORT_PATH, resolve).on("error", reject));
  return count(response);
}

/** Several exports at once. */
export async function httpManyBytes({ url, exports }) {
  const all = await Promise.all(Array.from({ length: exports }, () => httpBytes({ url })));
  return all.reduce((sum, each) => sum + each, 0);
}

/** What every client of these does with an answer, as ours does: make the message of it. */
const decode = (json) => fromJson(GetNetworkParameterResponseSchema, json);

export const fetchCalls = (args) =>
  makeCalls(args, async () => decode(await (await fetch(args.url + PARAMETER_PATH)).json()));

export async function undiciCalls(args) {
  const { request } = await import("undici");
  return () => makeCalls(args, async () => decode(await (await request(args.url + PARAMETER_PATH)).body.json()));
}

export async function gotCalls(args) {
  const { got } = await import("got");
  const agent = { http: new Agent({ keepAlive: true }) };
  return () => makeCalls(args, async () => decode(await got(args.url + PARAMETER_PATH, { agent }).json()));
}

export async function httpCalls(args) {
  const agent = new Agent({ keepAlive: true });
  const call = () =>
    new Promise((resolve, reject) => {
      const request = httpRequest(args.url + PARAMETER_PATH, { agent }, (response) => {
        buffer(response).then((bytes) => resolve(decode(JSON.parse(bytes.toString()))), reject);
      });
      request.on("error", reject).end();
    });
  return makeCalls(args, call);
}
