import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { createAuthority } from "../contract/certificates.js";
import { run } from "../support/command.js";
import { freePort } from "../support/free-port.mjs";
import { serveNode } from "../support/node.js";

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
});
afterAll(() => node.close());

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly finding: string;
  readonly advice?: string;
}

async function doctor(...args: string[]): Promise<{ code: number | null; checks: Map<string, Finding> }> {
  const { code, out } = await run(["doctor", "--json", ...args]);
  const checks: Finding[] = JSON.parse(out).checks;
  return { code, checks: new Map(checks.map((each) => [each.check, each])) };
}

it("checks the machine, the configuration, each transport and the chain", async () => {
  const { code, checks } = await doctor("--grpc-url", node.grpcUrl, "--rest-url", node.restUrl);
  expect(code).toBe(0);
  for (const check of ["Node.js", "optional packages", "rate limit", "chain", `grpc ${node.grpcUrl}`]) {
    expect(checks.get(check)).toMatchObject({ state: "ok" });
  }
  expect(checks.get(`rest ${node.restUrl}`)).toMatchObject({
    state: "ok",
    finding: expect.stringContaining("height 10"),
  });
  expect([...checks.keys()]).toEqual(expect.arrayContaining(["disk space", "configuration", "clock"]));
});

it.each(["doctor", "config"])(
  "%s breaks long texts into lines on a narrow terminal, and shortens none",
  async (name) => {
    const terminal = { columns: 80, rows: 20 };
    const { out } = await run([name, "--grpc-url", node.grpcUrl], { terminal, environment: { NO_COLOR: "1" } });
    expect(out).not.toContain("…");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    const whole = (await run([name, "--grpc-url", node.grpcUrl, "--output", "table"])).out;
    const words = (text: string) => text.split(/\s+/).length;
    expect(words(out)).toBe(words(whole));
  },
);

it("breaks a path that is longer than its column", async () => {
  const environment = { NO_COLOR: "1", XDG_CONFIG_HOME: `/${"folder".repeat(12)}` };
  const terminal = { columns: 80, rows: 20 };
  const { out } = await run(["doctor", "--grpc-url", node.grpcUrl], { terminal, environment });
  expect(out).not.toContain("…");
  expect(out.replaceAll(/\n +/g, "")).toContain(`${environment.XDG_CONFIG_HOME}/tradewire/config.json`);
});

it("warns of a transport in whose place another answers, and fails if none does", async () => {
  const down = `http://127.0.0.1:${await freePort()}`;
  const half = await doctor("--grpc-url", down, "--rest-url", node.restUrl);
  expect([half.code, half.checks.get(`grpc ${down}`)?.state]).toEqual([0, "warning"]);
  const none = await run(["doctor", "--output", "table", "--grpc-url", down]);
  expect(none.code).toBe(1);
  expect(none.out).toMatch(/failure +grpc .*unreachable: the connection was refused .*the URL is set by --grpc-url/);
  expect(none.out).toContain("Check that the server is running");
});

describe("the profile", () => {
  let deployed: Devnode;
  beforeAll(async () => {
    deployed = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10, profile: "deployed" });
  });
  afterAll(() => deployed.close());

  it.each(["grpc", "rest"] as const)("is compared with how the node behaves over %s", async (transport) => {
    const url = (each: Devnode) => [`--${transport}-url`, each[`${transport}Url`]];
    const right = await doctor(...url(deployed), "--profile", "deployed");
    expect([right.code, right.checks.get("profile")]).toEqual([
      0,
      { check: "profile", state: "ok", finding: "deployed (set by --profile), as the node behaves" },
    ]);
    const wrong = await doctor(...url(deployed));
    expect([wrong.code, wrong.checks.get("profile")]).toEqual([
      1,
      {
        check: "profile",
        state: "failure",
        finding: "specification (the default), but the node behaves as deployed",
        advice: expect.stringMatching(
          /^Use --profile deployed, or set `profile` to "deployed" in the configuration\. /,
        ),
      },
    ]);
    expect((await doctor(...url(node), "--profile", "deployed")).checks.get("profile")?.finding).toBe(
      "deployed (set by --profile), but the node behaves as specification",
    );
  });

  it("is not known without history, or if the test export fails", async () => {
    const statistics = { chainId: "chain-1", blockHeight: 1n, vegaTime: "2024-01-01T00:00:00Z" };
    await using empty = await serveNode(
      { listAllNetworkHistorySegments: () => ({ segments: [] }) },
      { statistics: () => ({ statistics }), lastBlockHeight: () => ({ height: 1n, chainId: "chain-1" }) },
    );
    expect((await doctor("--grpc-url", empty.grpcUrl)).checks.get("profile")).toMatchObject({
      state: "ok",
      finding: "specification (the default); the node has no history to compare it with",
    });
    await using failing = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    failing.failNext({ method: "ExportNetworkHistory", with: "PERMISSION_DENIED" });
    const { code, checks } = await doctor("--grpc-url", failing.grpcUrl);
    expect([code, checks.get("profile")]).toMatchObject([
      0,
      { state: "warning", finding: expect.stringContaining("because a test export failed: ") },
    ]);
  });
});

it("says which chain ID is wrong, and who sets it", async () => {
  const environment = { TRADEWIRE_CHAIN_ID: "chain-9" };
  const { code, out } = await run(["doctor", "--output", "table", "--grpc-url", node.grpcUrl], { environment });
  expect(code).toBe(1);
  expect(out).toContain("other chain: it is on chain tradewire-devnet, not on chain-9 (");
  expect(out).toContain(
    "If tradewire-devnet is the right chain, correct chainId, which is set by environment variable TRADEWIRE_CHAIN_ID.\n",
  );
});

it("reports a configuration that is wrong", async () => {
  const { code, checks } = await doctor("--use", "none");
  expect([code, checks.get("configuration")?.state]).toEqual([1, "failure"]);
});

it.each([
  [-1, "failure", /^the certificate expired on \d{4}-\d\d-\d\d$/],
  [1, "warning", /^the certificate expires on /],
  [90, "ok", /^the certificate is trusted, and expires on /],
])("checks a certificate that ends in %d days", async (days, state, finding) => {
  using authority = createAuthority();
  const { certFile, keyFile } = authority.certify("DNS:localhost", days);
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    const { code, checks } = await doctor("--rest-url", url, "--ca-file", authority.caFile);
    expect(code).toBe(1);
    expect(checks.get(`TLS ${url}`)).toMatchObject({ state, finding: expect.stringMatching(finding) });
  } finally {
    server.close();
  }
});

it("reports a certificate of an authority that is not trusted", async () => {
  using authority = createAuthority();
  const { certFile, keyFile } = authority.certify("DNS:localhost", 90);
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    const { checks } = await doctor("--rest-url", url);
    expect(checks.get(`TLS ${url}`)).toMatchObject({
      state: "failure",
      finding: expect.stringContaining("not trusted"),
    });
  } finally {
    server.close();
  }
});
