import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";

const TOKEN = "tok3n-never-to-be-seen";

let directory = "";
beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "tradewire-config-")));
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

function tradewire(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return run(args, { cwd: directory, environment });
}

describe("tradewire config", () => {
  it("prints a line for each key, with its value and its source", async () => {
    writeFileSync(join(directory, "file.json"), '{"retry":{"tries":5},"rest":{"url":"https://rest.example"}}');
    const { code, out, err } = await tradewire(
      [
        ...["config", "--config", "file.json", "--grpc-url", "https://grpc.example", "--ca-file", "ca.pem"],
        ...["-o", "table"],
      ],
      { TRADEWIRE_GRPC_HEADERS: `{"authorization":"Bearer ${TOKEN}","x-b":"${TOKEN}"}` },
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["key", "value", "source"],
      ["transport", "auto", "default"],
      ["profile", "specification", "default"],
      ["grpc.url", "https://grpc.example", "--grpc-url"],
      ["grpc.codec", "proto", "default"],
      ["grpc.compression", "none", "default"],
      ["grpc.windowBytes", "8388608", "default"],
      ["grpc.keepaliveMs", "310000", "default"],
      ["grpc.tls.caFile", join(directory, "ca.pem"), "--ca-file"],
      ["grpc.headers", "authorization: ***, x-b: ***", "environment variable TRADEWIRE_GRPC_HEADERS"],
      ["grpc.allowInsecureHeaders", "false", "default"],
      ["rest.url", "https://rest.example", "file.json, line 1"],
      ["rest.streams", "envelopes", "default"],
      ["rest.jsonAsText", "false", "default"],
      ["rest.tls.caFile", join(directory, "ca.pem"), "--ca-file"],
      ["rest.allowInsecureHeaders", "false", "default"],
      ["timeouts.connectMs", "10000", "default"],
      ["timeouts.callMs", "60000", "default"],
      ["retry.tries", "5", "file.json, line 1"],
      ["retry.baseMs", "100", "default"],
      ["retry.maxMs", "10000", "default"],
      ["retry.maxTokens", "100", "default"],
      ["retry.tokenRatio", "0.1", "default"],
      ["fallback.strategy", "first", "default"],
      ["fallback.maxLagBlocks", "20", "default"],
      ["fallback.pauseMs", "30000", "default"],
      ["fallback.maxPauseMs", "300000", "default"],
      ["limits.maxMessageBytes", "67108864", "default"],
      ["limits.maxJsonBytes", "67108864", "default"],
      ["limits.maxArchiveBytes", "536870912", "default"],
      [""],
    ]);
  });

  it("prints an object with --json", async () => {
    const args = ["config", "--json", "--connect-timeout", "500ms", "--call-timeout", "1.5m", "--idle-timeout", "30"];
    const { code, out } = await tradewire(args, { TRADEWIRE_REST_HEADERS: `{"authorization":"${TOKEN}"}` });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      transport: { value: "auto", source: "default" },
      "grpc.url": { value: "http://127.0.0.1:3007", source: "default" },
      "rest.url": { value: "http://127.0.0.1:3008", source: "default" },
      "rest.headers": { value: { authorization: "***" }, source: "environment variable TRADEWIRE_REST_HEADERS" },
      "timeouts.connectMs": { value: 500, source: "--connect-timeout" },
      "timeouts.callMs": { value: 90_000, source: "--call-timeout" },
      "timeouts.idleMs": { value: 30_000, source: "--idle-timeout" },
    });
  });

  it("takes the certificate authorities for the URLs that are https", async () => {
    const urls = ["--grpc-url", "http://127.0.0.1:3007", "--rest-url", "https://rest.example"];
    const { out } = await tradewire(["config", "--json", ...urls, "--ca-file", "/ca.pem"]);
    const config: unknown = JSON.parse(out);
    expect(config).toHaveProperty(["rest.tls.caFile"], { value: "/ca.pem", source: "--ca-file" });
    expect(config).not.toHaveProperty(["grpc.tls.caFile"]);
  });
});

describe("options of every command that talks to a node", () => {
  const commands = [
    ["config"],
    ["segments"],
    ["export", "--table", "trades", "--from-block", "1", "--to-block", "1000"],
  ];

  it.each(commands)("are refused by %s where they are wrong", async (...command) => {
    for (const [args, message] of [
      [["--config", "none.json"], 'the configuration file "none.json" does not exist'],
      [["--transport", "http"], "--transport: unknown transport"],
      [["--grpc-url", "node"], "the configuration is invalid: --grpc-url must be a URL"],
      [["--ca-file", "ca.pem"], "--ca-file: grpc.tls requires an https URL"],
      [["--call-timeout", "soon"], '--call-timeout must be a duration, such as 500ms, 30s, 2m or 1h (got "soon")'],
      [["--idle-timeout", "0"], '--idle-timeout must be a duration from 1ms to 596h (got "0")'],
    ] as const) {
      const { code, out, err } = await tradewire([...command, ...args]);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(message);
    }
  });
});

describe("a token", () => {
  const headers = JSON.stringify({ authorization: `Bearer ${TOKEN}` });

  it.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ["a configuration that is right", ["config", "-o", "table"], { TRADEWIRE_GRPC_HEADERS: headers }],
    ["the same for machines", ["config", "--json"], { TRADEWIRE_GRPC_HEADERS: headers }],
    ["plain HTTP", ["config", "--grpc-url", "http://node.example"], { TRADEWIRE_GRPC_HEADERS: headers }],
    [
      "plain HTTP, for machines",
      ["config", "--json", "--rest-url", "http://a.example"],
      { TRADEWIRE_REST_HEADERS: headers },
    ],
    ["headers that are no JSON", ["config", "--json"], { TRADEWIRE_GRPC_HEADERS: `authorization: ${TOKEN}` }],
    ["a line break in a header", ["config"], { TRADEWIRE_GRPC_HEADERS: JSON.stringify({ a: `${TOKEN}\n` }) }],
    ["an unknown variable", ["config"], { TRADEWIRE_TOKEN: TOKEN }],
    ["a password in a URL", ["config"], { TRADEWIRE_GRPC_URL: `https://user:${TOKEN}@node.example` }],
    ["a query in a URL", ["config"], { TRADEWIRE_GRPC_URL: `https://node.example?${TOKEN}` }],
    ["a file that is no JSON", ["config", "--config", "broken.json"], {}],
    ["a file with an unknown key", ["config", "--config", "unknown.json"], {}],
    [
      "a node that is not there",
      ["segments", "--json", "--transport", "grpc", "--grpc-url", "http://127.0.0.1:9"],
      { TRADEWIRE_GRPC_HEADERS: headers },
    ],
    [
      "a gateway that is not there",
      ["segments", "--transport", "rest", "--rest-url", "http://127.0.0.1:9"],
      { TRADEWIRE_REST_HEADERS: headers, TRADEWIRE_RETRY_TRIES: "1" },
    ],
  ])("does not appear with %s", async (_, args, environment) => {
    writeFileSync(join(directory, "broken.json"), `{"grpc":{"headers":{"authorization":"${TOKEN}"}}`);
    writeFileSync(join(directory, "unknown.json"), `{"grpc":{"token":"${TOKEN}"}}`);
    const { code, out, err } = await tradewire(args, environment);
    expect([0, 1, 2]).toContain(code);
    expect(out + err).not.toBe("");
    expect(out + err).not.toContain(TOKEN);
  });
});
