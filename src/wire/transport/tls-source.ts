import { createPrivateKey, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, RequestError } from "../../base/errors/index.js";
import { fileError, isError, quotedPath, READ_ADVICE } from "../../base/errors/node-errors.js";
import { readFileOrPipe } from "../../base/file/read-file.js";
import type { PemSource, TlsConfig } from "../config/client-config.js";

/** Options of Node's TLS, with the certificates and the key that a configuration names. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

/** The certificates and the key for new connections. */
export interface TlsSource {
  /**
   * Returns what the next connection uses: the same object for as long as nothing has changed.
   *
   * @throws {@link ConnectionError} or {@link RequestError} if there is nothing valid, now or before; the signal's reason
   */
  material(signal: AbortSignal): Promise<TlsMaterial>;
}

/** The parts of a TLS configuration in PEM, and what each must contain. */
const PARTS = [
  { part: "ca", file: "caFile", label: "CERTIFICATE" },
  { part: "cert", file: "certFile", label: "CERTIFICATE" },
  { part: "key", file: "keyFile", label: "PRIVATE KEY" },
] as const;

type PartName = (typeof PARTS)[number]["part"];

/** A part in PEM, and its name for errors. */
interface Pem {
  readonly name: string;
  readonly text: string;
}

type Pems = Partial<Readonly<Record<PartName, Pem>>>;

/**
 * Creates the source of certificates and keys of a TLS configuration. Files are read again once they have changed, and functions
 * are called for each connection. If the new content is invalid, for example half written, the previous certificates stay in use,
 * and the process emits a warning.
 *
 * @throws `FileError` if a file cannot be read; {@link RequestError} if it has other content
 */
export function createTlsSource(config: TlsConfig = {}): TlsSource {
  const files = PARTS.flatMap(({ file }) => config[file] ?? []);
  const hasFunctions = PARTS.some(({ part }) => typeof config[part] === "function");
  let versions = fileVersions(files);
  let current = hasFunctions ? undefined : toMaterial(readFiles(config), config);

  async function load(signal: AbortSignal): Promise<TlsMaterial> {
    const found = fileVersions(files);
    if (current !== undefined && found === versions && !hasFunctions) {
      return current;
    }
    const read = readFiles(config);
    versions = found; // Files that could not be read are read again for the next connection.
    const loaded = toMaterial({ ...read, ...(await callFunctions(config, signal)) }, config);
    return current !== undefined && isSame(current, loaded) ? current : loaded;
  }

  return {
    async material(signal) {
      if (current !== undefined && files.length === 0 && !hasFunctions) {
        return current;
      }
      try {
        current = await load(signal);
      } catch (reason) {
        if (current === undefined || signal.aborted) {
          throw reason;
        }
        const why = isError(reason) ? (reason.message.split("\n")[0] ?? "") : String(reason);
        process.emitWarning(
          `the new certificates are invalid, so the previous ones stay in use: ${why}`,
          "TradewireWarning",
        );
      }
      return current;
    },
  };
}

/** Returns a text that changes when one of the files is written or replaced. */
function fileVersions(files: readonly string[]): string {
  const versions = files.map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
  });
  return versions.join("; ");
}

function readFiles(config: TlsConfig): Pems {
  return toPems(
    PARTS.map(({ part, file }) => {
      const path = config[file];
      const text = config[part];
      if (path !== undefined) {
        return [part, { name: quotedPath(path), text: readContent(path) }];
      }
      return [part, typeof text === "string" ? { name: `tls.${part}`, text } : undefined];
    }),
  );
}

async function callFunctions(config: TlsConfig, signal: AbortSignal): Promise<Pems> {
  return toPems(
    await Promise.all(
      PARTS.map(async ({ part }) => {
        const source = config[part];
        const pem = typeof source === "function" ? await callFunction(`tls.${part}`, source, signal) : undefined;
        return [part, pem] as const;
      }),
    ),
  );
}

function toPems(parts: readonly (readonly [PartName, Pem | undefined])[]): Pems {
  return Object.fromEntries(parts.filter(([, pem]) => pem !== undefined));
}

async function callFunction(name: string, source: Exclude<PemSource, string>, signal: AbortSignal): Promise<Pem> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  let text: unknown;
  try {
    text = await Promise.race([Promise.resolve().then(source), aborted]);
  } catch (cause) {
    throw new ConnectionError(
      signal.aborted ? `the function ${name} did not return in time` : `the function ${name} failed`,
      {
        code: Code.Unavailable,
        advice: "Nothing was sent. Correct the function. The error's cause is the error that it threw.",
        connected: false,
        cause,
      },
    );
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  if (typeof text !== "string") {
    throw notPem(`the result of the function ${name}`, name === "tls.key" ? "PRIVATE KEY" : "CERTIFICATE");
  }
  return { name: `the result of the function ${name}`, text };
}

/** Checks the parts. Node's TLS ignores a text without the expected part, and names no file if a key does not fit. */
function toMaterial(pems: Pems, { serverName }: TlsConfig): TlsMaterial {
  for (const { part, label } of PARTS) {
    const pem = pems[part];
    if (pem !== undefined && !new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(pem.text)) {
      throw notPem(pem.name, label);
    }
  }
  const { ca, cert, key } = pems;
  if (ca !== undefined) {
    for (const [authority] of ca.text.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]*?(?:-----END CERTIFICATE-----|$)/g)) {
      parsePem(ca.name, "certificate", () => new X509Certificate(authority));
    }
  }
  if (cert !== undefined && key !== undefined) {
    requirePair(cert, key);
  }
  return {
    ...(ca && { ca: ca.text }),
    ...(cert && { cert: cert.text }),
    ...(key && { key: key.text }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return PARTS.every(({ part }) => a[part] === b[part]);
}

/** Checks that a key belongs to a certificate. TLS would fail at the first call, with a message that names no file. */
function requirePair(cert: Pem, key: Pem): void {
  const privateKey = parsePem(key.name, "private key", () => createPrivateKey(key.text));
  const certificate = parsePem(cert.name, "certificate", () => new X509Certificate(cert.text));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new RequestError(`the key ${key.name} does not match the certificate ${cert.name}`, {
      advice:
        "Use the key of the certificate. If the file contains several certificates, the client's own must be first.",
      errorCode: "TW_CONFIGURATION",
    });
  }
}

function parsePem<T>(name: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new RequestError(`invalid ${what} in ${name}`, {
      advice: `Use a complete ${what} in PEM, and a key without a passphrase.`,
      errorCode: "TW_CONFIGURATION",
      cause,
    });
  }
}

function notPem(name: string, label: "CERTIFICATE" | "PRIVATE KEY"): RequestError {
  return new RequestError(`${name} contains no ${label.toLowerCase()} in PEM`, {
    advice: `Use a string or a file that contains -----BEGIN ${label}-----.`,
    errorCode: "TW_CONFIGURATION",
  });
}

function readContent(path: string): string {
  try {
    return readFileOrPipe(path).toString();
  } catch (reason) {
    throw reason instanceof RequestError ? reason : fileError(reason, path, READ_ADVICE);
  }
}
