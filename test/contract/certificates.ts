import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Paths of PEM files. */
export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate authority of the test's own. */
export interface Authority extends Disposable {
  readonly caFile: string;
  /** Make a certificate for a name, such as `DNS:node.example` or `IP:127.0.0.1`, that ends some days from now. */
  certify(name: string, days?: number): KeyPair;
}

/** Make an authority and its certificates with the `openssl` of the machine. */
export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), "tradewire-tls-"));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
    "-days",
    "1",
    "-subj",
    "/CN=authority",
  );
  let certificates = 0;
  return {
    caFile: at("ca.pem"),
    certify(name, days = 1) {
      certificates += 1;
      const [certFile, keyFile] = [at(`${certificates}.pem`), at(`${certificates}.key`)];
      openssl("req", "-new", ...key, "-keyout", keyFile, "-out", at("request"), "-subj", "/CN=node");
      writeFileSync(at("extensions"), `subjectAltName=${name}`);
      const by = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("extensions")];
      openssl("x509", "-req", "-in", at("request"), ...by, "-days", String(days), "-out", certFile);
      return { certFile, keyFile };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
