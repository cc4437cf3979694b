// Clients of HTTP/1.1, each as its documentation reads a body.
import { Agent, get, request as httpRequest } from "node:http";
import { buffer } from "node:stream/consumers";
import { atOnce, count, EXPORT_PATH, PARAMETER_PATH } from "./support.mjs";

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

export const fetchCalls = ({ url, calls }) => atOnce(calls, async () => (await fetch(url + PARAMETER_PATH)).json());

export async function undiciCalls({ url, calls }) {
  const { request } = await import("undici");
  return () => atOnce(calls, async () => (await request(url + PARAMETER_PATH)).body.json());
}

export async function gotCalls({ url, calls }) {
  const { got } = await import("got");
  const agent = { http: new Agent({ keepAlive: true }) };
  return () => atOnce(calls, () => got(url + PARAMETER_PATH, { agent }).json());
}

export async function httpCalls({ url, calls }) {
  const agent = new Agent({ keepAlive: true });
  const call = () =>
    new Promise((resolve, reject) => {
      const request = httpRequest(url + PARAMETER_PATH, { agent }, (response) => {
        buffer(response).then((bytes) => resolve(JSON.parse(bytes.toString())), reject);
      });
      request.on("error", reject).end();
    });
  return atOnce(calls, call);
}
