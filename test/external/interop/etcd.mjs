// etcd, and the grpc-gateway that it holds: calls of all its services over each transport have the same answers.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { freePort } from "../../support/free-port.mjs";
import { callOf, serve, transportsTo } from "./foreign.mjs";
import { once } from "./tools.mjs";

const base64 = (text) => Buffer.from(text).toString("base64");
/** What differs from call to call. */
const VARYING = new Set([
  "header",
  "key",
  "createRevision",
  "modRevision",
  "version",
  "ID",
  "TTL",
  "raftIndex",
  "raftTerm",
]);
const GRPC_NOT_FOUND = 5;

/** A value without what differs from call to call. */
function steady(value) {
  if (Array.isArray(value)) {
    return value.map(steady);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).flatMap(([key, one]) => (VARYING.has(key) ? [] : [[key, steady(one)]])))
    : value;
}

/** The calls of one transport, in their order. Each gives what is compared. */
const CALLS = [
  ["KV/Put", async ({ call, key }) => steady(await call("KV", "Put", { key, value: base64("1"), prevKv: true }))],
  [
    "KV/Range",
    async ({ call, key }) => {
      const found = await call("KV", "Range", { key });
      assert.equal(found.messages[0].kvs[0].value, base64("1"));
      return found.messages[0].count;
    },
  ],
  [
    "KV/Txn",
    async ({ call, key }) => {
      const request = {
        compare: [{ target: "VALUE", result: "EQUAL", key, value: base64("1") }],
        success: [{ requestPut: { key, value: base64("2") } }],
        failure: [{ requestRange: { key } }],
      };
      const [first, second] = [await call("KV", "Txn", request), await call("KV", "Txn", request)];
      assert.deepEqual([first.messages[0].succeeded, second.messages[0].succeeded ?? false], [true, false]);
      return steady([first.messages[0].responses[0].responsePut, second.messages[0].responses[0].responseRange.count]);
    },
  ],
  [
    "Watch/Watch",
    async ({ call, key }) => {
      const { messages } = await call(
        "Watch",
        "Watch",
        [{ createRequest: { key, startRevision: "1", prevKv: true } }],
        {
          limit: 2,
        },
      );
      assert.equal(messages[0].created, true);
      const events = messages[1].events.map(({ kv, type = "PUT" }) => `${type} ${kv.value}`);
      assert.deepEqual(events.slice(0, 2), [`PUT ${base64("1")}`, `PUT ${base64("2")}`]);
      return events;
    },
  ],
  ["KV/DeleteRange", async ({ call, key }) => steady(await call("KV", "DeleteRange", { key, prevKv: true }))],
  [
    "Lease/LeaseGrant",
    async ({ call, id }) => (await call("Lease", "LeaseGrant", { TTL: "600", ID: id })).messages[0].TTL,
  ],
  [
    "Lease/LeaseKeepAlive",
    async ({ call, id }) => (await call("Lease", "LeaseKeepAlive", [{ ID: id }], { limit: 1 })).messages[0].TTL,
  ],
  [
    "Lease/LeaseTimeToLive",
    async ({ call, id }) => (await call("Lease", "LeaseTimeToLive", { ID: id, keys: true })).messages[0].grantedTTL,
  ],
  [
    "Lease/LeaseLeases",
    async ({ call, id }) =>
      (await call("Lease", "LeaseLeases", {})).messages[0].leases.some((lease) => lease.ID === id),
  ],
  [
    "Lease/LeaseRevoke",
    async ({ call, id }) => Object.keys((await call("Lease", "LeaseRevoke", { ID: id })).messages[0]),
  ],
  [
    "Lease/LeaseRevoke of an unknown lease",
    async ({ call, id }) => failed(await call("Lease", "LeaseRevoke", { ID: id }), GRPC_NOT_FOUND),
  ],
  ["Cluster/MemberList", async ({ call }) => (await call("Cluster", "MemberList", {})).messages[0].members],
  ["Maintenance/Status", async ({ call }) => (await call("Maintenance", "Status", {})).messages[0].version],
  [
    "Maintenance/Snapshot",
    async ({ call }) => {
      const { messages, error } = await call("Maintenance", "Snapshot", {});
      assert.equal(error, undefined);
      const bytes = messages.reduce((sum, { blob = "" }) => sum + Buffer.from(blob, "base64").length, 0);
      assert.equal(messages.at(-1).remainingBytes ?? "0", "0");
      // A database of bbolt, and its SHA-256.
      assert.equal(bytes % 512, 32);
      return bytes;
    },
  ],
  ["Auth/RoleAdd", async ({ call, name }) => Object.keys((await call("Auth", "RoleAdd", { name })).messages[0])],
  [
    "Auth/RoleGrantPermission",
    async ({ call, name }) => {
      const perm = { permType: "READWRITE", key: base64("a"), rangeEnd: base64("b") };
      await call("Auth", "RoleGrantPermission", { name, perm });
      return steady(await call("Auth", "RoleGet", { role: name }));
    },
  ],
  ["Auth/UserGet of an unknown user", async ({ call }) => failed(await call("Auth", "UserGet", { name: "nobody" }), 9)],
  ["KV/Range without a key", async ({ call }) => failed(await call("KV", "Range", {}), 3)],
];

function failed({ error }, code) {
  assert.equal(error?.code, code);
  return error;
}

export function etcdCases({ folder, tools, onEnd }) {
  const setUp = once(async () => {
    const { program, protos } = await tools.etcd();
    const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    const args = [
      ...["--data-dir", join(folder, "etcd"), "--log-level", "error"],
      ...["--listen-client-urls", client, "--advertise-client-urls", client],
      ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
    ];
    onEnd(await serve(program, args, `${client}/health`));
    const transports = transportsTo(client, client);
    onEnd(() => Promise.all(Object.values(transports).map((transport) => transport.close())));
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(protos)));
    return { transports, registry };
  });
  return CALLS.map(([title, work]) => [
    `etcd: ${title} over grpc, grpc-js and its gateway`,
    async () => {
      const { transports, registry } = await setUp();
      const results = [];
      for (const [index, transport] of Object.values(transports).entries()) {
        const call = (service, name, request, options) => {
          const method = registry.getService(`etcdserverpb.${service}`).methods.find((one) => one.name === name);
          return callOf(transport, method, request, options);
        };
        results.push(
          await work({ call, key: base64(`key-${index}`), id: String(1000 + index), name: `role-${index}` }),
        );
      }
      const [first, ...others] = results;
      for (const other of others) {
        assert.deepEqual(other, first);
      }
    },
  ]);
}
