// gapic-showcase, Google's server for tests of clients: the command calls it by its own definitions, which it has through
// server reflection, over gRPC and over REST as Google's front ends speak it. All transports have the same answers.
import assert from "node:assert/strict";
import { freePort } from "../../support/free-port.mjs";
import { commandOf, serve } from "./foreign.mjs";
import { once } from "./tools.mjs";

const TRANSPORTS = ["grpc", "grpc-js", "rest,grpc", "auto"];
const GRPC_ONLY = ["grpc", "grpc-js"];

const info = {
  fString: "first/ä ö?&#%",
  fInt32: -7,
  fSint64: "-9007199254740993",
  fUint64: "18446744073709551615",
  fDouble: 0.1,
  fFloat: 3.5,
  fBool: true,
  fBytes: "AP8=",
  fKingdom: "PLANTAE",
  fChild: { fString: "second/b", fContinent: "EUROPE", pBool: false, fChild: { fDouble: -1.5 } },
  pString: "",
  pInt32: 0,
  pBool: false,
};
// The server takes bytes in a query for text.
const { fBytes: _, ...flat } = { ...info, fString: "a b" };
const resource = { info: { fString: "first/a", fBool: true, fChild: { fString: "second/b" } } };
const trailing = { info: { fString: "first/a", fChild: { fString: "second/b/c/d" } } };
const extremes = {
  info: {
    fDouble: 1.7976931348623157e308,
    fInt32: -2147483648,
    fInt64: "-9223372036854775808",
    fUint32: 4294967295,
    fString: "\u0000\u2028😀",
  },
  fInt64: "9223372036854775807",
};

/** The request that a method of the service Compliance repeats. */
const repeated = ({ request }) => request;

/** Calls: title, method, request, what is compared of the answers, and the transports. */
const CALLS = [
  ["Echo", { content: "ä\n😀", severity: "URGENT" }, ([{ content, severity }]) => ({ content, severity })],
  ["Echo", { error: { code: 5, message: "no such thing" } }],
  ["Echo", { error: { code: 9, message: "not now" } }],
  ["FailEchoWithDetails", { message: "details" }],
  ["EchoErrorDetails", { singleDetailText: "a", multiDetailText: ["b", "c"] }],
  ["Expand", { content: "one two three four" }, (answers) => answers.map(({ content }) => content)],
  // Over REST the server puts the error into the array without a comma, and answers an empty stream without a body.
  ["Expand", { content: "one two", error: { code: 8, message: "too much" } }, undefined, GRPC_ONLY],
  ["Expand", { content: "" }, undefined, GRPC_ONLY],
  ["PagedExpand", { content: "a b c d e", pageSize: 2 }],
  ["PagedExpand", { content: "a b c d e", pageSize: 2, pageToken: "4" }],
  ["PagedExpand", { content: "a", pageSize: -1 }],
  ["Block", { responseDelay: "0.01s", success: { content: "done" } }],
  ["Block", { responseDelay: "0s", error: { code: 7, message: "not yours" } }],
  ["RepeatDataBody", { name: "all", info, fInt64: "-1", pDouble: 0 }, ([answer]) => repeated(answer)],
  ["RepeatDataBody", extremes, ([answer]) => repeated(answer)],
  ["RepeatDataBody", {}, ([answer]) => repeated(answer)],
  ["RepeatDataBodyInfo", { info }, ([answer]) => repeated(answer)],
  ["RepeatDataQuery", { name: "a&b=c", info: flat }, ([answer]) => repeated(answer)],
  ["RepeatDataQuery", extremes, ([answer]) => repeated(answer)],
  [
    "RepeatDataSimplePath",
    { info: { fString: "a b", fInt32: -7, fDouble: 0.5, fBool: true, fKingdom: "FUNGI" } },
    ([answer]) => repeated(answer),
  ],
  ["RepeatDataPathResource", resource, ([answer]) => repeated(answer)],
  [
    "RepeatDataPathResource",
    { info: { fString: "second/a", fChild: { fString: "first/b" } } },
    ([answer]) => repeated(answer),
    ["rest,grpc", "grpc"],
  ],
  ["RepeatDataPathTrailingResource", trailing, ([answer]) => repeated(answer)],
  ["RepeatDataBodyPut", { name: "put", info }, ([answer]) => repeated(answer)],
  ["RepeatDataBodyPatch", { name: "patch", info }, ([answer]) => repeated(answer)],
  ["GetEnum", {}, ([{ continent }]) => continent],
  ["GetUser", { name: "users/none" }],
  ["CreateUser", { user: { displayName: "" } }],
  [
    "CreateUser",
    { user: { displayName: "Ann", email: "ann@example.com", age: 0, enableNotifications: false } },
    ([{ name, createTime, updateTime, ...user }]) => ({ ...user, named: /^users\//.test(name) }),
    ["grpc"],
  ],
  ["GetUser", { name: "users/0" }, ([{ displayName, age }]) => ({ displayName, age })],
  [
    "UpdateUser",
    { user: { name: "users/0", displayName: "Bea", email: "b@example.com" }, updateMask: "displayName,email" },
    ([{ displayName, email }]) => ({ displayName, email }),
    GRPC_ONLY,
  ],
  ["ListUsers", { pageSize: 10 }, ([{ users }]) => users.map(({ name, displayName }) => ({ name, displayName }))],
  ["DeleteUser", { name: "users/0" }, (answers) => answers, ["rest,grpc"]],
  ["Collect", [{ content: "a" }, { content: "b" }], ([{ content }]) => content, GRPC_ONLY],
  ["Chat", [{ content: "a" }, { content: "b" }], (answers) => answers.map(({ content }) => content), GRPC_ONLY],
];

export function showcaseCases({ root, tools, onEnd }) {
  const setUp = once(async () => {
    const program = await tools.showcase();
    const url = `http://127.0.0.1:${await freePort()}`;
    onEnd(await serve(program, ["run", "--port", `:${new URL(url).port}`], url));
    return url;
  });

  // The server names JSON text/plain, streams one array, and asks REST clients for the header.
  const { command, call } = commandOf(
    root,
    async () => {
      const url = await setUp();
      return { grpcUrl: url, restUrl: url };
    },
    {
      environment: { TRADEWIRE_REST_JSON_AS_TEXT: "true", TRADEWIRE_REST_STREAMS: "array" },
      header: "x-goog-api-client: rest/1 gapic/1",
    },
  );

  return [
    [
      "gapic-showcase: methods --reflection lists its services",
      async () => {
        const { methods } = JSON.parse((await command("methods", "google.showcase", "--reflection", "--json")).out);
        assert.ok(methods.length > 40);
        assert.ok(methods.some(({ name, http }) => name.endsWith("Compliance/RepeatDataBody") && http.length === 1));
      },
    ],
    ...CALLS.map(([method, request, pick = (answers) => answers, transports = TRANSPORTS], index) => [
      `gapic-showcase: ${method} (${index + 1}) over ${transports.join(" and ")}`,
      async () => {
        const results = await Promise.all(transports.map((transport) => call(method, request, transport, pick)));
        for (const result of results) {
          assert.deepEqual(result, results[0]);
        }
      },
    ]),
  ];
}
