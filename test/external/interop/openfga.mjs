// OpenFGA, an authorization server with a grpc-gateway: the command calls it by server reflection, over gRPC and REST alike.
import assert from "node:assert/strict";
import { freePort } from "../../support/free-port.mjs";
import { commandOf, serve } from "./foreign.mjs";
import { once } from "./tools.mjs";

const TRANSPORTS = ["grpc", "grpc-js", "rest,grpc"];

/** The server has codes of its own, which gRPC does not know, and over REST the HTTP status tells more. */
const CODE = /^the node answered \w+: /;

/** Documents that users may read. */
const MODEL = {
  schema_version: "1.1",
  type_definitions: [
    { type: "user" },
    {
      type: "document",
      relations: { reader: { this: {} } },
      metadata: { relations: { reader: { directly_related_user_types: [{ type: "user" }] } } },
    },
  ],
};
const tuple = (user, document) => ({ user: `user:${user}`, relation: "reader", object: `document:${document}` });

/** Calls with a store: title, method, request, and what is compared of the answers. */
const CALLS = [
  ["GetStore", {}, ([{ name }]) => name],
  ["ReadAuthorizationModels", { page_size: 5 }, ([{ authorization_models: models }]) => models],
  ["Check", { tuple_key: tuple("ann", "1") }, ([{ allowed }]) => allowed],
  ["Check", { tuple_key: tuple("bob", "1") }, ([{ allowed }]) => allowed],
  ["Check", { tuple_key: { ...tuple("ann", "1"), relation: "owner" } }],
  ["Read", { tuple_key: { object: "document:1" } }, ([{ tuples }]) => tuples.map(({ key }) => key)],
  ["ListObjects", { type: "document", relation: "reader", user: "user:ann" }, ([{ objects }]) => objects.toSorted()],
  [
    "StreamedListObjects",
    { type: "document", relation: "reader", user: "user:ann" },
    (answers) => answers.map(({ object }) => object).toSorted(),
  ],
  ["Expand", { tuple_key: { relation: "reader", object: "document:1" } }, ([{ tree }]) => tree],
  [
    "ReadChanges",
    { type: "document" },
    ([{ changes }]) => changes.map(({ tuple_key: key, operation }) => ({ key, operation })),
  ],
  ["GetStore", { store_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" }],
  ["GetStore", { store_id: "no id" }],
];

export function openfgaCases({ root, tools, onEnd }) {
  const server = once(async () => {
    const program = await tools.openfga();
    const [grpc, http] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const off = ["--playground-enabled=false", "--metrics-enabled=false", "--log-level", "none"];
    onEnd(await serve(program, ["run", "--grpc-addr", grpc, "--http-addr", http, ...off], `http://${http}/healthz`));
    return { grpcUrl: `http://${grpc}`, restUrl: `http://${http}` };
  });
  const { call } = commandOf(root, server);

  /** Make a store with a model and two tuples, a part of it over each transport. */
  const store = once(async () => {
    const [created] = (await call("CreateStore", { name: "documents" }, "rest,grpc")).answers;
    const storeId = created.id;
    const written = await call("WriteAuthorizationModel", { store_id: storeId, ...MODEL }, "grpc");
    assert.ok(written.answers[0].authorization_model_id);
    for (const [document, transport] of [
      ["1", "rest,grpc"],
      ["2", "grpc-js"],
    ]) {
      const { error } = await call(
        "OpenFGAService/Write",
        { store_id: storeId, writes: { tuple_keys: [tuple("ann", document)] } },
        transport,
      );
      assert.equal(error, undefined);
    }
    return storeId;
  });

  return CALLS.map(([method, request, pick], index) => [
    `OpenFGA: ${method} (${index + 1}) over ${TRANSPORTS.join(" and ")}`,
    async () => {
      const storeId = await store();
      const results = await Promise.all(
        TRANSPORTS.map((transport) =>
          call(`OpenFGAService/${method}`, { store_id: storeId, ...request }, transport, pick),
        ),
      );
      assert.ok(pick === undefined || results[0].error === undefined, results[0].error?.message);
      const compared = results.map(({ answers, error }) => ({ answers, error: error?.message.replace(CODE, "") }));
      for (const result of compared) {
        assert.deepEqual(result, compared[0]);
      }
    },
  ]);
}
