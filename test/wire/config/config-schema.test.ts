import { describe, expect, it } from "@jest/globals";
import { type ClientConfig, type Config, createClient, loadConfig, RequestError, readConfig } from "tradewire";
import { configKeys, type SchemaInput, type SchemaOutput } from "../../../src/wire/config/config-schema.js";

const GRPC = { url: "http://127.0.0.1:3007" };
const REST = { url: "http://127.0.0.1:3008" };
const TOKEN = "tok3n-never-to-be-seen";

/** The first line of the error that a configuration is refused with. */
function refusal(config: unknown): string {
  try {
    readConfig(config);
  } catch (error) {
    expect(error).toBeInstanceOf(RequestError);
    return error instanceof RequestError ? error.summary.replace("the configuration is invalid: ", "") : "";
  }
  throw new Error("the configuration was accepted");
}

describe("a client without a URL", () => {
  it("does not compile, and is refused", () => {
    const refused = "must contain grpc.url, rest.url or both";
    // @ts-expect-error
    expect(() => createClient({})).toThrow(refused);
    // @ts-expect-error
    expect(() => createClient({ retry: { tries: 1 } })).toThrow(refused);
    // @ts-expect-error
    expect(() => createClient({ grpc: undefined, rest: undefined })).toThrow(refused);
    // @ts-expect-error
    expect(() => createClient({ transport: "grpc" })).toThrow("grpc.url is required");
    // @ts-expect-error
    expect(() => createClient({ grpc: {} })).toThrow("grpc.url is missing");
  });

  it.each<[string, () => ClientConfig]>([
    ["one of gRPC", () => ({ grpc: GRPC })],
    ["one of the gateway", () => ({ rest: REST, grpc: undefined })],
    ["both", () => ({ grpc: GRPC, rest: REST, transport: "auto" })],
    ["what was loaded", () => loadConfig({ environment: {}, directory: "/" }).config],
    ["what was read", () => readConfig({ rest: REST })],
  ])("is made with %s", async (_, config) => {
    await using client = createClient(config());
    expect(client.transport).toBeDefined();
  });
});

describe("readConfig", () => {
  it("fills in the defaults", () => {
    expect(readConfig({ grpc: GRPC, rest: REST })).toEqual({
      transport: "auto",
      profile: "specification",
      grpc: {
        ...GRPC,
        codec: "proto",
        compression: "none",
        windowBytes: 8_388_608,
        keepaliveMs: 310_000,
        allowInsecureHeaders: false,
      },
      rest: { ...REST, streams: "envelopes", jsonAsText: false, allowInsecureHeaders: false },
      timeouts: { connectMs: 10_000, callMs: 60_000 },
      retry: { tries: 3, baseMs: 100, maxMs: 10_000, maxTokens: 100, tokenRatio: 0.1 },
      fallback: { strategy: "first", maxLagBlocks: 20, pauseMs: 30_000, maxPauseMs: 300_000 },
      limits: { maxMessageBytes: 67_108_864, maxJsonBytes: 67_108_864, maxArchiveBytes: 536_870_912 },
    });
  });

  it.each([
    ["grpc", { grpc: GRPC }],
    ["rest", { rest: REST }],
    ["rest", { transport: "rest", grpc: GRPC, rest: REST }],
    ["grpc-js", { transport: "grpc-js", grpc: { ...GRPC, addresses: ["10.0.0.1:3007", "[2001:db8::1]:3007"] } }],
  ])("chooses %s", (transport, config) => {
    expect(readConfig(config).transport).toBe(transport);
  });

  it("accepts what it gives", () => {
    const config = readConfig({ grpc: { ...GRPC, headers: { authorization: TOKEN } }, rest: REST });
    expect(readConfig(config)).toEqual(config);
  });

  it.each<[unknown, string]>([
    [undefined, "the configuration is missing: it must be an object"],
    [[], "the configuration must be an object (got an array)"],
    [{}, "the configuration must contain grpc.url, rest.url or both"],
    [{ grpc: "x" }, "grpc must be an object (got a string)"],
    [{ grpc: null }, "grpc must be an object (got null)"],
    [{ grpc: GRPC, gprc: GRPC }, "gprc is not a known key"],
    [{ grpc: { ...GRPC, window: 1 } }, "grpc.window is not a known key"],
    [Object.assign(Object.create({ inherited: 1 }), { grpc: GRPC }), "inherited is not a known key"],
    [{ grpc: GRPC, timeouts: { zzzzz: 1 } }, "timeouts.zzzzz is not a known key"],
    [
      { transport: "http", grpc: GRPC },
      'transport must be one of auto, grpc, grpc-js, rest, or a list of the last three (got "http")',
    ],
    [{ transport: [], grpc: GRPC }, "transport must contain at least one transport"],
    [
      { transport: ["grpc", "auto"], grpc: GRPC },
      "transport must be one of auto, grpc, grpc-js, rest, or a list of the last three (got an array)",
    ],
    [{ transport: ["grpc", "grpc"], grpc: GRPC }, "transport must not contain two transports of the same name"],
    [{ transport: ["rest", "grpc"], grpc: GRPC }, "rest.url is required for the transport rest"],
    [{ grpc: { url: [] } }, "grpc.url must contain at least one URL"],
    [{ grpc: { url: [GRPC.url, GRPC.url] } }, "grpc.url must not contain a URL twice"],
    [
      { rest: { url: [REST.url, "node.example"] } },
      'rest.url.1 must be a URL such as http://127.0.0.1:3007 or https://node.example (got "node.example")',
    ],
    [
      { rest: { url: [REST.url, "http://node.example"], headers: { authorization: TOKEN } } },
      "rest.headers would be sent over plain HTTP to node.example; use https, or set rest.allowInsecureHeaders",
    ],
    [
      { grpc: { url: "localhost:3007" } },
      'grpc.url must be a URL such as http://localhost:3007 (got "localhost:3007")',
    ],
    [{ rest: { url: "grpcs://h:1" } }, 'rest.url must be a URL such as https://h:1 (got "grpcs://h:1")'],
    [
      { rest: { url: "me:secret@h:1" } },
      'rest.url must be a URL such as http://127.0.0.1:3007 or https://node.example (got "***@h:1")',
    ],
    [{ grpc: {} }, "grpc.url is missing: it must be a URL such as http://127.0.0.1:3007 or https://node.example"],
    [
      { transport: "grpc-js", grpc: { url: "nonsense", addresses: [] } },
      'grpc.url must be a URL such as http://127.0.0.1:3007 or https://node.example (got "nonsense"); ' +
        "grpc.addresses must contain at least one address",
    ],
    [
      { grpc: { ...GRPC, windowBytes: 65_534 } },
      "grpc.windowBytes must be a whole number of bytes from 65535 to 2147483647 (got 65534)",
    ],
    [
      { grpc: { ...GRPC, windowBytes: "64k" } },
      'grpc.windowBytes must be a whole number of bytes from 65535 to 2147483647 (got "64k")',
    ],
    [
      { rest: REST, timeouts: { callMs: 0.5 } },
      "timeouts.callMs must be a whole number of milliseconds from 1 to 2147483647 (got 0.5)",
    ],
    [{ rest: { ...REST, allowInsecureHeaders: "yes" } }, 'rest.allowInsecureHeaders must be true or false (got "yes")'],
    ...["node.example:3007", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:65536", "[10.0.0.1]:1", "[fe80::1%eth0]:1"].map(
      (address): [unknown, string] => [
        { transport: "grpc-js", grpc: { ...GRPC, addresses: [address] } },
        `grpc.addresses.0 must be an IP address and a port, such as 10.0.0.1:3007 (got "${address}")`,
      ],
    ),
  ])("refuses %j", (config, summary) => {
    expect(refusal(config)).toBe(summary);
  });

  it.each([
    [{ grpc: GRPC, gprc: GRPC }, "Did you mean grpc? "],
    [{ grpc: { ...GRPC, window: 1 } }, "Did you mean grpc.windowBytes? "],
    [{ grpc: GRPC, retry: { attempts: 3 } }, "Did you mean retry.tries? "],
    [{ grpc: GRPC, tokens: [] }, "Did you mean grpc.headers? "],
    [
      { grpc: GRPC, retry: { max_retries: 3 }, timeout: 5 },
      "Did you mean retry.tries instead of retry.max_retries? Did you mean timeouts.callMs instead of timeout? ",
    ],
    [{ grpc: GRPC, qqqqqq: 1 }, ""],
  ])("suggests the keys that %j means", (config, suggestion) => {
    const advice = `${suggestion}Correct these values. configuration.md in the documentation lists all keys.`;
    expect(() => readConfig(config)).toThrow(expect.objectContaining({ advice }));
  });

  it.each<[unknown, string]>([
    [{ transport: "auto", grpc: GRPC }, "rest.url is required for the transport auto"],
    [{ transport: "rest", grpc: GRPC }, "rest.url is required for the transport rest"],
    [{ transport: "grpc-js", rest: REST }, "grpc.url is required for the transport grpc-js"],
    [
      { transport: "grpc-js", grpc: { ...GRPC, codec: "json" } },
      "grpc.codec must be proto for the transport grpc-js; only grpc supports json",
    ],
    [
      { transport: "grpc-js", grpc: { url: "http://127.0.0.1:3007/path" } },
      "grpc.url must have no path for the transport grpc-js",
    ],
    [{ grpc: { ...GRPC, addresses: ["10.0.0.1:3007"] } }, "grpc.addresses is available only for the transport grpc-js"],
    [{ rest: { ...REST, tls: { caFile: "ca.pem" } } }, "rest.tls requires an https URL, but rest.url is plain http"],
    [
      { rest: { url: "https://node.example", tls: { keyFile: "key.pem" } } },
      "rest.tls must have both certFile and keyFile, or both cert and key, or none of them",
    ],
  ])("refuses the combination %j", (config, summary) => {
    expect(refusal(config)).toBe(summary);
  });
});

describe("headers over plain HTTP", () => {
  const headers = { authorization: `Bearer ${TOKEN}` };

  it.each([
    "http://127.0.0.1:3008",
    "http://127.9.9.9",
    "http://2130706433",
    "http://[::1]:3008",
    "http://localhost",
    "http://node.localhost",
    "https://node.example",
  ])("may go to %s", (url) => {
    expect(readConfig({ rest: { url, headers } }).rest?.headers).toEqual(headers);
  });

  it.each([
    ["http://node.example", "node.example"],
    ["http://10.0.0.1", "10.0.0.1"],
    ["http://localhost.example", "localhost.example"],
    ["http://127.0.0.1.example", "127.0.0.1.example"],
    ["http://[2001:db8::1]", "[2001:db8::1]"],
    ["HTTP://node.example", "node.example"],
  ])("do not go to %s", (url, host) => {
    expect(refusal({ rest: { url, headers } })).toBe(
      `rest.headers would be sent over plain HTTP to ${host}; use https, or set rest.allowInsecureHeaders`,
    );
    expect(readConfig({ rest: { url, headers, allowInsecureHeaders: true } }).rest?.headers).toEqual(headers);
  });

  it("go to the addresses, wherever the URL leads", () => {
    const grpc = { ...GRPC, headers, addresses: ["127.0.0.1:3007", "10.0.0.1:3007"] };
    expect(refusal({ transport: "grpc-js", grpc })).toBe(
      "grpc.headers would be sent over plain HTTP to 10.0.0.1; use https, or set grpc.allowInsecureHeaders",
    );
  });
});

describe("secrets", () => {
  it.each<[string, unknown]>([
    ["a list of headers", { rest: { ...REST, headers: [TOKEN] } }],
    ["headers as a text", { rest: { ...REST, headers: TOKEN } }],
    ["a header with a line break", { rest: { ...REST, headers: { authorization: `${TOKEN}\n` } } }],
    ["a header that is a list", { rest: { ...REST, headers: { authorization: [TOKEN] } } }],
    ["a header's value in its name's place", { rest: { ...REST, headers: { [`Bearer ${TOKEN}`]: "authorization" } } }],
    ["a header one level too high", { rest: { ...REST, authorization: TOKEN } }],
    ["a header for a host in the clear", { rest: { url: "http://a.example", headers: { authorization: TOKEN } } }],
    ["a text in a group's place", { rest: TOKEN }],
    ["a password in a URL", { rest: { url: `https://user:${TOKEN}@node.example` } }],
    ["a password with a slash in a URL", { rest: { url: `https://user:a/${TOKEN}@node.example` } }],
    ["a password in what is no URL", { rest: { url: `user:${TOKEN}@node.example` } }],
    ["a query in a URL", { rest: { url: `https://node.example/?token=${TOKEN}` } }],
    ["a fragment in a URL", { rest: { url: `https://node.example/#${TOKEN}` } }],
    ["a key in its file's place", { rest: { url: "https://a.example", tls: { keyFile: `-----BEGIN\n${TOKEN}\n` } } }],
  ])("do not appear in the refusal of %s", (_, config) => {
    try {
      readConfig(config);
    } catch (error) {
      expect(error).toBeInstanceOf(RequestError);
      const { message, stack, cause } = error instanceof RequestError ? error : new Error();
      expect(`${message} ${stack} ${JSON.stringify(error)} ${String(cause)}`).not.toContain(TOKEN.slice(6));
      return;
    }
    throw new Error("the configuration was accepted");
  });
});

it("has variables that differ", () => {
  expect(new Set(configKeys.map(({ variable }) => variable)).size).toBe(configKeys.length);
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** A type with what it is put together from as one, and with nothing in it that can be changed. */
type Flat<T> = T extends object ? { readonly [Key in keyof T]: Flat<T[Key]> } : T;
type Url = "grpc" | "rest";
type Chosen = Url | "transport";
type Given<T> = Extract<T, { readonly grpc: object }>;

it("declares what the schema takes, and what it gives", () => {
  const equal: [
    Equal<Flat<Omit<Given<ClientConfig>, Chosen>>, Flat<Omit<SchemaInput, Chosen>>>,
    Equal<Flat<ClientConfig["grpc"]>, Flat<SchemaInput["grpc"]>>,
    Equal<Flat<ClientConfig["rest"]>, Flat<SchemaInput["rest"]>>,
    Equal<Flat<Omit<Config, Chosen>>, Flat<Omit<SchemaOutput, Chosen>>>,
    Equal<Flat<Config["grpc"]>, Flat<SchemaOutput["grpc"]>>,
    Equal<Flat<Config["rest"]>, Flat<SchemaOutput["rest"]>>,
  ] = [true, true, true, true, true, true];
  expect(equal).not.toContain(false);
});
