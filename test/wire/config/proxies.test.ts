import { describe, expect, it } from "@jest/globals";
import { type ClientConfig, loadConfig, readConfig } from "tradewire";
import { run } from "../../support/command.js";

const URL_OF_NODE = "https://node.example:3007";
const PROXY = "http://user:s3cret@proxy.example:3128";

/** The proxy for a URL in an environment: what no node uses is not in the configuration. */
function proxyIn(environment: Record<string, string>, url = URL_OF_NODE) {
  const { config } = loadConfig({
    environment,
    arguments: [{ name: "--grpc-url", key: "grpc.url", value: url }],
    directory: "/nonexistent",
  });
  const { proxy } = config;
  return typeof proxy === "object" ? proxy[url.startsWith("https:") ? "https" : "http"] : proxy || undefined;
}

describe("the proxies of the environment", () => {
  it.each([
    ["HTTPS_PROXY for https", { HTTPS_PROXY: PROXY }, "https://node.example", PROXY],
    ["HTTPS_PROXY not for http", { HTTPS_PROXY: PROXY }, "http://node.example", undefined],
    ["HTTP_PROXY for http", { HTTP_PROXY: PROXY }, "http://node.example", PROXY],
    ["HTTP_PROXY not for https", { HTTP_PROXY: PROXY }, "https://node.example", undefined],
    [
      "lower case first",
      { HTTPS_PROXY: "http://a.example", https_proxy: "http://b.example" },
      "https://n.example",
      "http://b.example",
    ],
    ["no scheme, as http", { https_proxy: "proxy.example:3128" }, "https://n.example", "http://proxy.example:3128"],
    ["empty as unset", { https_proxy: "", HTTPS_PROXY: PROXY }, "https://n.example", PROXY],
    ["not HTTP_PROXY in CGI", { HTTP_PROXY: PROXY, REQUEST_METHOD: "GET" }, "http://node.example", undefined],
    ["http_proxy in CGI", { http_proxy: PROXY, REQUEST_METHOD: "GET" }, "http://node.example", PROXY],
    [
      "TRADEWIRE_PROXY before them",
      { HTTPS_PROXY: PROXY, TRADEWIRE_PROXY: "http://t.example" },
      "https://n.example",
      "http://t.example",
    ],
    ["none by TRADEWIRE_PROXY=false", { HTTPS_PROXY: PROXY, TRADEWIRE_PROXY: "false" }, "https://n.example", undefined],
    ["an unused one of another kind", { HTTP_PROXY: "socks5://a.example" }, "https://n.example", undefined],
    ["none for loopback", { HTTPS_PROXY: "socks5://a.example" }, "https://127.0.0.1:1", undefined],
  ])("are %s", (_, environment, url, proxy) => {
    expect(proxyIn(environment, url)).toBe(proxy);
  });

  // The rules of golang.org/x/net/http/httpproxy (proxy.go: `useProxy`, `init`, and the matchers).
  it.each([
    ["*", "https://node.example", true],
    ["node.example", "https://node.example", true],
    ["NODE.example", "https://Node.Example", true],
    ["example", "https://node.example", true],
    ["ode.example", "https://node.example", false],
    [".example", "https://node.example", true],
    [".node.example", "https://node.example", false],
    ["*.example", "https://node.example", true],
    ["*.node.example", "https://node.example", false],
    ["node.example:3007", URL_OF_NODE, true],
    ["node.example:3008", URL_OF_NODE, false],
    ["node.example:443", "https://node.example", true],
    ["other.example, node.example", "https://node.example", true],
    ["other.example node.example", "https://node.example", true],
    ["10.0.0.1", "https://10.0.0.1", true],
    ["10.0.0.1", "https://10.0.0.10", false],
    ["10.0.0.1:443", "https://10.0.0.1", true],
    ["10.0.0.1:444", "https://10.0.0.1", false],
    ["10.0.0.0/8", "https://10.1.2.3", true],
    ["10.0.0.0/8", "https://11.1.2.3", false],
    ["10.0.0.0/8", "https://node.example", false],
    ["0.1", "https://10.0.0.1", false],
    ["2001:db8::/32", "https://[2001:db8::7]", true],
    ["2001:db8::/32", "https://[2001:db9::7]", false],
    ["2001:db8::7", "https://[2001:db8:0::7]", true],
    ["[2001:db8::7]:443", "https://[2001:db8::7]", true],
    ["[2001:db8::7]:444", "https://[2001:db8::7]", false],
    ["10.0.0.0/99, ,:, /, [", "https://10.0.0.1", false],
  ])("are not taken, with NO_PROXY=%s, for %s: %s", (rule, url, isDirect) => {
    expect(proxyIn({ HTTPS_PROXY: PROXY, NO_PROXY: rule }, url)).toBe(isDirect ? undefined : PROXY);
    expect(proxyIn({ HTTPS_PROXY: PROXY, no_proxy: rule }, url)).toBe(isDirect ? undefined : PROXY);
  });

  it("are never taken for loopback", () => {
    for (const url of [
      "http://127.0.0.1",
      "http://127.1.2.3:80",
      "http://[::1]",
      "http://localhost",
      "http://a.localhost",
    ]) {
      expect(proxyIn({ HTTP_PROXY: PROXY }, url)).toBeUndefined();
    }
  });

  it("that are wrong are named, and not shown", () => {
    for (const value of [
      `socks5://user:s3cret@a.example`,
      "http://s3cret@a b",
      "http://a.example/s3cret",
      "http://%s3cret@a",
    ]) {
      expect(() => proxyIn({ HTTPS_PROXY: value })).toThrow(
        /^environment variable HTTPS_PROXY must be the URL of an HTTP proxy, such as http:\/\/user:password@proxy.example:3128\n(?!.*s3cret)/,
      );
    }
  });

  it("have their variables as source, and no password in what the command prints", async () => {
    const environment = { HTTPS_PROXY: PROXY, NO_PROXY: "a.example" };
    const { code, out } = await run(["config", "--json", "--grpc-url", URL_OF_NODE], { environment });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      proxy: {
        value: { https: "http://***@proxy.example:3128", noProxy: ["a.example"] },
        source: "environment variables HTTPS_PROXY, NO_PROXY",
      },
    });
    expect(out).not.toContain("s3cret");
    const table = await run(["config", "--grpc-url", URL_OF_NODE], { environment });
    expect(table.out).toContain("http://***@proxy.example:3128");
    expect(table.out).not.toContain("s3cret");
  });

  it.each(["http:user:s3cret@proxy.example:3128", "http:///user:s3cret@proxy.example:3128"])(
    "have no password in what the command prints, in whatever form %s is a URL",
    async (proxy) => {
      const { code, out } = await run(["config", "--json", "--grpc-url", URL_OF_NODE], {
        environment: { TRADEWIRE_PROXY: proxy },
      });
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ proxy: { value: "http://***@proxy.example:3128" } });
      expect(out).not.toContain("s3cret");
    },
  );
});

describe("proxy in a configuration", () => {
  const grpc = { url: URL_OF_NODE };

  it.each<[unknown]>([
    ["proxy.example:3128"],
    ["ftp://a"],
    ["http://a/b"],
    ["http://a?b"],
    [true],
    [{ all: PROXY }],
    [{ https: "a" }],
  ])("is refused as %j", (proxy) => {
    expect(() => readConfig({ grpc, proxy })).toThrow(/proxy.* must be the URL of an HTTP proxy/);
  });

  it("does not show its password where it is wrong", () => {
    expect(() => readConfig({ grpc, proxy: "http://user:s3cret@a/b" })).toThrow(/^(?!.*s3cret)/s);
  });

  it("goes without grpc.addresses", () => {
    const config: ClientConfig = { transport: "grpc-js", grpc: { ...grpc, addresses: ["10.0.0.1:1"] }, proxy: PROXY };
    expect(() => readConfig(config)).toThrow("grpc.addresses cannot be combined with a proxy");
    expect(readConfig({ ...config, proxy: false })).toMatchObject({ proxy: false });
  });
});
