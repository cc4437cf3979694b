import { X509Certificate } from "node:crypto";
import fs, { readFileSync, renameSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type Client, createClient } from "tradewire";
import { type Authority, createAuthority, type KeyPair } from "../../contract/certificates.js";
import { eventually } from "../../support/eventually.js";
import { takeWarnings } from "../../support/warnings.js";
import { startTlsFront, startWaysNode, type Way, type WaysNode, ways } from "../../support/ways.js";

let node: WaysNode;
let first: Authority;
let second: Authority;
beforeAll(async () => {
  node = await startWaysNode();
  first = createAuthority();
  second = createAuthority();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  first[Symbol.dispose]();
  second[Symbol.dispose]();
});

const read = (path: string) => readFileSync(path, "utf8");

/** The options of a server that takes clients of an authority alone. */
function asking(authority: Authority) {
  const { certFile, keyFile } = first.certify("IP:127.0.0.1");
  return {
    cert: read(certFile),
    key: read(keyFile),
    ca: read(authority.caFile),
    requestCert: true,
    rejectUnauthorized: true,
  };
}

/** Copy a pair to paths that stay the same, as who rotates certificates does. */
function replace(pair: KeyPair, { certFile, keyFile }: KeyPair): void {
  for (const [path, text] of [
    [pair.certFile, read(certFile)],
    [pair.keyFile, read(keyFile)],
  ] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

/** Calls until one succeeds, as the client may notice a cut only by a call. */
const eventuallyCalls = (way: Way, client: Client) =>
  eventually(() =>
    way.call(client).then(
      () => true,
      () => false,
    ),
  );

describe.each(ways.map((way) => [way.name, way] as const))("certificates over %s", (_, way) => {
  it("are read again from files that have changed, for new connections", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    const pair = first.certify("DNS:client");
    await using client = way.connect(front.url, { tls: { caFile: first.caFile, ...pair } });
    await way.call(client);
    replace(pair, second.certify("DNS:client"));
    front.change(asking(second)); // From now on, it refuses the first pair.
    front.cut();
    await eventuallyCalls(way, client);
  });

  it("are the new ones on the first connection after a change, even if the server takes the old ones", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    const pair = first.certify("DNS:client");
    await using client = way.connect(front.url, { tls: { caFile: first.caFile, ...pair } });
    await way.call(client);
    replace(pair, first.certify("DNS:client"));
    const before = front.clients.length;
    front.cut();
    await eventuallyCalls(way, client);
    const { fingerprint256 } = new X509Certificate(read(pair.certFile));
    expect(new Set(front.clients.slice(before))).toEqual(new Set([fingerprint256]));
  });

  it("are read again after a change that could not be read", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    const pair = first.certify("DNS:client");
    await using client = way.connect(front.url, { tls: { caFile: first.caFile, ...pair } });
    await way.call(client);
    using warnings = takeWarnings();
    replace(pair, second.certify("DNS:client"));
    // A process that is out of descriptors could open no connections either.
    const reading = jest.spyOn(fs, "openSync").mockImplementationOnce(() => {
      throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    });
    syncBuiltinESMExports();
    try {
      front.cut();
      await eventuallyCalls(way, client);
    } finally {
      reading.mockRestore();
      syncBuiltinESMExports();
    }
    expect(warnings.told).toHaveLength(1);
    front.change(asking(second)); // From now on, it refuses the first pair.
    front.cut();
    await eventuallyCalls(way, client);
  });

  it("stay in use, with a warning, while what is new is broken", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    const pair = first.certify("DNS:client");
    await using client = way.connect(front.url, { tls: { caFile: first.caFile, ...pair } });
    await way.call(client);
    using warnings = takeWarnings();
    const whole = read(pair.certFile);
    writeFileSync(pair.certFile, whole.slice(0, whole.length / 2));
    front.cut();
    await eventuallyCalls(way, client);
    expect(warnings.told).toEqual([
      expect.stringMatching(
        /^TradewireWarning: the new certificates are invalid, so the previous ones stay in use: invalid certificate in ".*"$/,
      ),
    ]);
    writeFileSync(pair.certFile, read(second.certify("DNS:client").certFile));
    front.cut();
    await eventuallyCalls(way, client);
    expect(warnings.told.slice(1)).toEqual([expect.stringContaining("does not match the certificate")]);
    replace(pair, second.certify("DNS:client"));
    front.change(asking(second));
    front.cut();
    await eventuallyCalls(way, client);
  });

  it("may be texts in PEM, or functions that are called for each new connection", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    let pair = first.certify("DNS:client");
    const tls = { ca: read(first.caFile), cert: async () => read(pair.certFile), key: () => read(pair.keyFile) };
    await using client = way.connect(front.url, { tls });
    await way.call(client);
    pair = second.certify("DNS:client");
    front.change(asking(second));
    front.cut();
    await eventuallyCalls(way, client);

    await using other = way.connect(front.url, {
      tls: { ca: read(first.caFile), cert: read(pair.certFile), key: read(pair.keyFile) },
    });
    await way.call(other);
  });

  it("fail calls clearly where a function fails, returns something else, or does not return", async () => {
    await using front = await startTlsFront(node.urls[way.server], asking(first));
    const { certFile, keyFile } = first.certify("DNS:client");
    const shared = { ca: read(first.caFile), cert: read(certFile) };
    const failing = way.connect(front.url, { tls: { ...shared, key: () => Promise.reject(new Error("no vault")) } });
    await expect(way.call(failing)).rejects.toMatchObject({
      name: "ConnectionError",
      headline: "the function tls.key failed",
      connected: false,
    });
    const wrong = way.connect(front.url, { tls: { ...shared, key: () => read(certFile) } });
    await expect(way.call(wrong)).rejects.toMatchObject({
      name: "RequestError",
      headline: "the result of the function tls.key contains no private key in PEM",
    });
    const silent = way.connect(front.url, {
      tls: { ...shared, key: () => new Promise<string>(() => undefined) },
      timeouts: { connectMs: 100 },
    });
    await expect(way.call(silent)).rejects.toMatchObject({ name: "ConnectionError", connected: false });
    let answers = 0;
    await using client = way.connect(front.url, {
      tls: {
        ...shared,
        key() {
          answers += 1;
          if (answers > 1) {
            throw new Error("no vault");
          }
          return read(keyFile);
        },
      },
    });
    await way.call(client);
    using warnings = takeWarnings();
    front.cut();
    await eventuallyCalls(way, client); // With the key that it had.
    expect(warnings.told[0]).toContain("the function tls.key failed");
    await Promise.all([failing, wrong, silent].map((each) => each.close()));
  });
});

describe("certificates of a configuration", () => {
  const url = "https://node.example";
  const make = (tls: object) => () => createClient({ grpc: { url, tls } });

  it("are refused where they come twice, or are no PEM, and are never shown", () => {
    const pair = first.certify("DNS:client");
    const [cert, key] = [read(pair.certFile), read(pair.keyFile)];
    expect(make({ cert, certFile: pair.certFile, key })).toThrow("grpc.tls.cert cannot be combined with certFile");
    expect(make({ cert })).toThrow("grpc.tls must have both certFile and keyFile, or both cert and key,");
    expect(make({ cert, key: "s3cret" })).toThrow(/^(?!.*s3cret).*grpc\.tls\.key must be PEM text/s);
    expect(make({ cert, key: read(second.certify("DNS:client").keyFile) })).toThrow(
      "the key tls.key does not match the certificate tls.cert",
    );
  });
});
