import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type LoadConfigOptions, loadConfig, RequestError, TradewireError } from "tradewire";
import { useRuntime } from "../../support/virtual-runtime.js";

const TOKEN = "tok3n-never-to-be-seen";

/** The keys that configuration.md in the documentation lists, each with its environment variable. */
const keys = [
  ...readFileSync("docs/configuration.md", "utf8").matchAll(/^\| `([\w.]+)` \|.*\| `(TRADEWIRE_\w+)` \|/gm),
].map(([, name = "", variable = ""]) => ({ name, variable }));

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewire-config-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function write(config: unknown, name = "tradewire.config.json"): void {
  writeFileSync(join(directory, name), typeof config === "string" ? config : JSON.stringify(config));
}

function load(options: LoadConfigOptions = {}) {
  return loadConfig({ environment: {}, directory, ...options });
}

function failure(options: LoadConfigOptions = {}): TradewireError {
  try {
    load(options);
  } catch (error) {
    if (error instanceof TradewireError) {
      return error;
    }
    throw error;
  }
  throw new Error("the configuration was accepted");
}

function summary(options: LoadConfigOptions = {}): string {
  const error = failure(options);
  expect(error).toBeInstanceOf(RequestError);
  return error.summary.replace("the configuration is invalid: ", "");
}

describe("the order of the sources", () => {
  const file = { timeouts: { connectMs: 1, callMs: 1, idleMs: 1 } };
  const environment = { TRADEWIRE_TIMEOUTS_CALL_MS: "2", TRADEWIRE_TIMEOUTS_IDLE_MS: "2" };
  const idle = { name: "--idle-timeout", key: "timeouts.idleMs", value: 3 };

  it("is defaults, file, environment, arguments, key by key", () => {
    write(file);
    const { config, sources } = load({ environment, arguments: [idle] });
    expect(config.timeouts).toEqual({ connectMs: 1, callMs: 2, idleMs: 3 });
    expect(config.retry.tries).toBe(3);
    expect(sources.get("timeouts.connectMs")).toBe("tradewire.config.json");
    expect(sources.get("timeouts.callMs")).toBe("environment variable TRADEWIRE_TIMEOUTS_CALL_MS");
    expect(sources.get("timeouts.idleMs")).toBe("--idle-timeout");
    expect(sources.get("retry.tries")).toBe("default");
  });

  it("lets the named file take the place of the usual one", () => {
    write({ retry: { tries: 9 } });
    write(file, "other.json");
    const { config, sources } = load({ file: "other.json" });
    expect(config.timeouts.callMs).toBe(1);
    expect(config.retry.tries).toBe(3);
    expect(sources.get("timeouts.callMs")).toBe("other.json");
  });

  it("takes headers as one key", () => {
    write({ grpc: { url: "https://node.example", headers: { a: "1", b: "2" } } }, "named.json");
    const environment = { TRADEWIRE_GRPC_HEADERS: '{"b":"3"}' };
    expect(load({ file: "named.json", environment }).config.grpc?.headers).toEqual({ b: "3" });
  });

  it("passes over arguments that are not given and variables that are empty", () => {
    const absent = { name: "--transport", key: "transport", value: undefined };
    const { config } = load({ arguments: [absent], environment: { TRADEWIRE_TRANSPORT: "", TRADEWIRE_NONSENSE: "" } });
    expect(config.transport).toBe("auto");
  });

  it("tells the source of exactly the keys that have a value", () => {
    const { sources } = load({ environment: { TRADEWIRE_REST_URL: "https://node.example" } });
    const names = keys.map(({ name }) => name);
    expect([...sources.keys()]).toEqual(
      names.filter(
        (name) => !/^grpc|^chainId$|^proxy$|^rest\.(tls|headers)|idleMs$|callsPerSecond$|retry\.methods$/.test(name),
      ),
    );
  });
});

describe("without a URL", () => {
  it("both are a local node's", () => {
    const { config, sources } = load();
    expect([config.transport, config.grpc?.url, config.rest?.url]).toEqual([
      "auto",
      "http://127.0.0.1:3007",
      "http://127.0.0.1:3008",
    ]);
    expect([sources.get("transport"), sources.get("grpc.url")]).toEqual(["default", "default"]);
  });

  it("every transport has its own", () => {
    for (const transport of ["grpc", "grpc-js", "rest", "auto"]) {
      expect(load({ environment: { TRADEWIRE_TRANSPORT: transport } }).config.transport).toBe(transport);
    }
  });

  it("other keys of an endpoint keep theirs", () => {
    write({ grpc: { codec: "json" }, rest: {} });
    const { config } = load();
    expect([config.grpc?.url, config.grpc?.codec]).toEqual(["http://127.0.0.1:3007", "json"]);
  });

  it("there is none beside one that is given", () => {
    const environment = { TRADEWIRE_GRPC_URL: "https://node.example" };
    const { config } = load({ environment });
    expect([config.transport, config.rest]).toEqual(["grpc", undefined]);
    expect(summary({ environment, arguments: [{ name: "--transport", key: "transport", value: "rest" }] })).toBe(
      "rest.url is required for the transport rest (transport is set by --transport)",
    );
  });
});

describe("the environment", () => {
  it("sets every key", () => {
    const { config } = load({
      environment: {
        TRADEWIRE_TRANSPORT: "grpc-js",
        TRADEWIRE_GRPC_URL: "https://node.example",
        TRADEWIRE_GRPC_WINDOW_BYTES: "1000000",
        TRADEWIRE_GRPC_ADDRESSES: "10.0.0.1:3007, [2001:db8::1]:3007",
        TRADEWIRE_GRPC_TLS_SERVER_NAME: "node.internal",
        TRADEWIRE_GRPC_HEADERS: '{"authorization":"Bearer x"}',
        TRADEWIRE_GRPC_ALLOW_INSECURE_HEADERS: "true",
        OTHER_VARIABLE: "x",
      },
    });
    expect(config.transport).toBe("grpc-js");
    expect(config.grpc).toEqual({
      url: "https://node.example",
      codec: "proto",
      compression: "none",
      windowBytes: 1_000_000,
      keepaliveMs: 310_000,
      addresses: ["10.0.0.1:3007", "[2001:db8::1]:3007"],
      tls: { serverName: "node.internal" },
      headers: { authorization: "Bearer x" },
      allowInsecureHeaders: true,
    });
  });

  it.each([
    ["TRADEWIRE_GRPC_WINDOW", "Did you mean TRADEWIRE_GRPC_WINDOW_BYTES? "],
    ["TRADEWIRE_TRANSPROT", "Did you mean TRADEWIRE_TRANSPORT? "],
    ["TRADEWIRE_URL", "Did you mean TRADEWIRE_GRPC_URL? "],
    ["TRADEWIRE_grpc_url", "Did you mean TRADEWIRE_GRPC_URL? "],
    ["TRADEWIRE_RETRY_ATTEMPTS", "Did you mean TRADEWIRE_RETRY_TRIES? "],
    ["TRADEWIRE_QQQ", ""],
  ])("is refused with %s", (name, suggestion) => {
    const { summary, advice } = failure({ environment: { [name]: TOKEN } });
    expect(summary).toBe(`unknown environment variable ${name}`);
    expect(advice).toBe(
      `${suggestion}Correct or unset it. configuration.md in the documentation lists the variables that start with TRADEWIRE_.`,
    );
  });

  it.each([
    ["TRADEWIRE_GRPC_WINDOW_BYTES", "64k", "grpc.windowBytes must be a whole number of bytes from 65535 to"],
    ["TRADEWIRE_RETRY_TRIES", "-1", 'retry.tries must be a whole number from 1 to 100 (got "-1")'],
    ["TRADEWIRE_RETRY_TRIES", "1e1", "retry.tries must be"],
    ["TRADEWIRE_RETRY_TRIES", "101", "retry.tries must be a whole number from 1 to 100 (got 101)"],
    [
      "TRADEWIRE_TRANSPORT",
      "REST",
      'transport must be one of auto, grpc, grpc-js, rest, or a list of the last three (got "REST")',
    ],
    ["TRADEWIRE_GRPC_ALLOW_INSECURE_HEADERS", "1", 'grpc.allowInsecureHeaders must be true or false (got "1")'],
    ["TRADEWIRE_GRPC_ADDRESSES", "10.0.0.1", "grpc.addresses.0 must be an IP address and a port"],
    ["TRADEWIRE_GRPC_HEADERS", `authorization: ${TOKEN}`, "grpc.headers must be an object of headers"],
    ["TRADEWIRE_GRPC_HEADERS", `["${TOKEN}"]`, "grpc.headers must be an object of headers"],
  ])("is refused with %s=%s", (name, value, message) => {
    expect(summary({ environment: { [name]: value } })).toContain(`environment variable ${name}: ${message}`);
  });

  it("is refused or read, whatever it says", () => {
    const variable = fc.constantFrom(...keys.map((key) => key.variable));
    fc.assert(
      fc.property(
        fc.dictionary(variable, fc.oneof(fc.string(), fc.json(), fc.webUrl(), fc.nat().map(String))),
        (set) => {
          try {
            load({ environment: { ...set } });
          } catch (error) {
            expect(error).toBeInstanceOf(RequestError);
          }
        },
      ),
    );
  });
});

describe("the file", () => {
  it("must exist where it is named", () => {
    expect(summary({ file: "none.json" })).toBe('the configuration file "none.json" does not exist');
  });

  it("must be a file", () => {
    const path = join(directory, "tradewire.config.json");
    mkdirSync(path);
    expect(failure()).toMatchObject({
      name: "RequestError",
      message: expect.stringContaining(`the configuration file "${path}" is a folder\nUse the path of a file.`),
    });
    expect(summary({ file: "." })).toBe('the configuration file "." is a folder');
  });

  /** Starts a program that has the pipe open for writing before this returns; the result waits for its end. */
  function startWriter(script: string) {
    const pipe = join(directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    const descriptor = openSync(pipe, "r+");
    const writer = spawn("sh", ["-c", script], { stdio: ["ignore", descriptor, "ignore"] });
    closeSync(descriptor);
    return once(writer, "exit");
  }

  it("may be a pipe, which is read until its writer has ended", async () => {
    const ended = startWriter(`sleep 0.2; printf '{"chainId":'; sleep 0.2; printf '"a"}'`);
    expect(load({ file: "pipe" }).config.chainId).toBe("a");
    await ended;
  });

  it("may not be a pipe whose writer takes more than ten seconds", async () => {
    const ended = startWriter("sleep 0.5");
    let ms = 0;
    using _ = useRuntime({
      monotonicMs() {
        ms += 5001;
        return ms;
      },
    });
    expect(summary({ file: "pipe" })).toBe(
      `"${join(directory, "pipe")}" is a pipe whose writer has not finished within 10 s`,
    );
    await ended;
  });

  it("may not be a pipe without a writer", () => {
    execFileSync("mkfifo", [join(directory, "pipe")]);
    expect(summary({ file: "pipe" })).toBe(`"${join(directory, "pipe")}" is a pipe without a writer`);
  });

  it("may not be a device, such as the terminal", () => {
    expect(summary({ file: "/dev/zero" })).toBe('"/dev/zero" is neither a file nor a pipe');
  });

  it("may not have more than 16 MiB", () => {
    write(" ".repeat(2 ** 24 + 1), "large.json");
    expect(summary({ file: "large.json" })).toBe(
      `"${join(directory, "large.json")}" exceeds the limit of 16777216 bytes`,
    );
  });

  it.each([
    ['{\n  "grpc": {,\n}', "syntax error at line 2, column 12"],
    ['{\r\n"a": 1\r\n"b": 2}', "syntax error at line 3, column 1"],
    ['{"a": 1,}', "syntax error at line 1, column 9"],
    ["// words\n{}", "syntax error at line 1, column 1"],
    ["", "unexpected end of file"],
    ['{"a": ', "unexpected end of file"],
    [`{"grpc": {"headers": {"authorization": ${TOKEN}}}}`, "syntax error at line 1, column 40"],
    [`{"grpc": {"headers": {"authorization": "${TOKEN}\n"}}}`, "unterminated string on line 1"],
  ])("must be JSON: %j", (text, message) => {
    write(text);
    expect(summary()).toBe(`tradewire.config.json: invalid JSON: ${message}`);
    expect(failure().cause).toBeUndefined();
  });

  it("must not have a name twice in one object", () => {
    write('{"grpc": {"url": "http://127.0.0.1:1", "url": "http://127.0.0.1:2"}}');
    expect(summary()).toBe('tradewire.config.json: the name "url" occurs twice in one object');
  });

  it("may begin with a byte order mark", () => {
    write('\ufeff{"retry":{"tries":7}}');
    expect(load().config.retry.tries).toBe(7);
  });

  it.each<[unknown, string]>([
    ["[]", "must be a JSON object (got an array)"],
    ["null", "must be a JSON object (got null)"],
    [{ grpc: { windowBytes: "1" } }, "grpc.windowBytes must be a whole number of bytes from 65535"],
    [{ grpc: "http://a.example" }, "grpc must be an object (got a string)"],
    [{ grpc: null }, "grpc must be an object (got null)"],
    [{ grpc: { urls: {} } }, "grpc.urls is not a known key"],
    [{ other: { url: TOKEN } }, "other is not a known key"],
    ['{"__proto__":{"transport":"rest"}}', "__proto__ is not a known key"],
    ['{"grpc":{"__proto__":{"allowInsecureHeaders":true}}}', "grpc.__proto__ is not a known key"],
    [{ "grpc.url": "http://a.example" }, "grpc.url is not a known key"],
    [{ rest: { headers: { authorization: 1 } } }, "rest.headers.authorization must be a string"],
  ])("is refused with %j", (config, message) => {
    write(config);
    expect(summary()).toMatch(/^tradewire\.config\.json:? /);
    expect(summary()).toContain(message);
  });

  it("is refused where the environment sets a key in what is no group", () => {
    write({ grpc: null });
    expect(summary({ environment: { TRADEWIRE_GRPC_URL: "https://a.example" } })).toContain(
      "grpc must be an object (got null)",
    );
  });
});

describe("a combination that is impossible", () => {
  it("is refused with both sources", () => {
    write({ grpc: { url: "http://a.example", codec: "json" } });
    const transport = { name: "--transport", key: "transport", value: "grpc-js" };
    expect(summary({ arguments: [transport] })).toBe(
      "tradewire.config.json: grpc.codec must be proto for the transport grpc-js; only grpc supports json " +
        "(transport is set by --transport)",
    );
    expect(summary({ environment: { TRADEWIRE_GRPC_HEADERS: `{"authorization":"${TOKEN}"}` } })).toBe(
      "environment variable TRADEWIRE_GRPC_HEADERS: grpc.headers would be sent over plain HTTP to a.example; use https, " +
        "or set grpc.allowInsecureHeaders (grpc.url is set by tradewire.config.json)",
    );
  });

  it("is named by the argument alone that sets it", () => {
    expect(summary({ arguments: [{ name: "--grpc-url", key: "grpc.url", value: "node" }] })).toBe(
      '--grpc-url must be a URL such as http://127.0.0.1:3007 or https://node.example (got "node")',
    );
  });

  it("is named by key too if one argument sets several keys", () => {
    const bothUrls = ["grpc.url", "rest.url"].map((key) => ({ name: "settings", key, value: "node" }));
    const mustBe = "must be a URL such as http://127.0.0.1:3007 or https://node.example";
    expect(summary({ arguments: bothUrls })).toBe(
      `settings: grpc.url ${mustBe} (got "node"); settings: rest.url ${mustBe} (got "node")`,
    );
  });

  it("says what asks for a URL that is missing", () => {
    const environment = { TRADEWIRE_GRPC_URL: "https://a.example", TRADEWIRE_REST_HEADERS: `{"a":"${TOKEN}"}` };
    expect(summary({ environment })).toBe(
      "environment variable TRADEWIRE_REST_HEADERS: rest.url is missing: " +
        "it must be a URL such as http://127.0.0.1:3007 or https://node.example",
    );
  });

  it("says that a URL has its default", () => {
    expect(summary({ arguments: [{ name: "--ca-file", key: "grpc.tls.caFile", value: "ca.pem" }] })).toBe(
      "--ca-file: grpc.tls requires an https URL, but grpc.url is plain http (grpc.url has its default value)",
    );
  });
});

describe("paths of files", () => {
  it("are relative to the file in the file, and to the working directory elsewhere", () => {
    mkdirSync(join(directory, "etc"));
    const tls = { caFile: "ca.pem", certFile: "../cert.pem", keyFile: "/keys/key.pem" };
    write({ grpc: { url: "https://a.example", tls }, rest: { url: "https://a.example" } }, "etc/config.json");
    const { config } = load({
      file: "etc/config.json",
      environment: { TRADEWIRE_REST_TLS_CA_FILE: "ca.pem" },
      arguments: [{ name: "--cert-file", key: "grpc.tls.certFile", value: "other.pem" }],
    });
    expect(config.grpc?.tls).toEqual({
      caFile: join(directory, "etc", "ca.pem"),
      certFile: join(directory, "other.pem"),
      keyFile: "/keys/key.pem",
    });
    expect(config.rest?.tls).toEqual({ caFile: join(directory, "ca.pem") });
  });

  it("are not what should be in the file", () => {
    write({ grpc: { url: "https://a.example", tls: { caFile: "" } } });
    const environment = { TRADEWIRE_GRPC_TLS_CA_FILE: "", TRADEWIRE_REST_TLS_KEY_FILE: `-----BEGIN\n${TOKEN}` };
    expect(summary({ environment })).toContain(
      "tradewire.config.json: grpc.tls.caFile must be the path of a PEM file, not its content",
    );
    expect(summary({ environment })).not.toContain(TOKEN);
  });
});
