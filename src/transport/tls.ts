import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TlsConfig } from "../config/schema.js";
import { fileError, quotedPath, readingAdvice } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";

/** Options of Node's TLS, with the contents of the files that a configuration names. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly servername?: string;
}

/**
 * Read the files of a TLS configuration.
 *
 * @param config the paths of PEM files, and the name for the server's certificate; by default none
 * @returns the options that the configuration sets
 * @throws {@link FileError} where one cannot be read; {@link RequestError} where it holds something else
 */
export function readTls({ caFile, certFile, keyFile, serverName }: TlsConfig = {}): TlsMaterial {
  const cert = certFile === undefined ? undefined : read(certFile, "CERTIFICATE");
  const key = keyFile === undefined ? undefined : read(keyFile, "PRIVATE KEY");
  if (cert !== undefined && certFile !== undefined && key !== undefined && keyFile !== undefined) {
    checkPair({ cert, certFile, key, keyFile });
  }
  return {
    ...(caFile !== undefined && { ca: read(caFile, "CERTIFICATE") }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

/** Check that a key is that of a certificate: TLS would fail at the first call, with a text that names no file. */
function checkPair(pair: Record<"cert" | "key", Buffer> & Record<"certFile" | "keyFile", string>): void {
  const key = parsed(pair.keyFile, "private key", () => createPrivateKey(pair.key));
  const certificate = parsed(pair.certFile, "certificate", () => new X509Certificate(pair.cert));
  if (!certificate.checkPrivateKey(key)) {
    throw new RequestError(
      `${quotedPath(pair.keyFile)} is not the key of the certificate in ${quotedPath(pair.certFile)}`,
      {
        advice:
          "Give the key that the certificate was made for; if the file holds several, the client's own comes first.",
        section: "requesterror-configuration",
      },
    );
  }
}

function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new RequestError(`the ${what} in ${quotedPath(path)} cannot be read`, {
      advice: `Give a ${what} in PEM that is whole, and a key without a passphrase.`,
      section: "requesterror-configuration",
      cause,
    });
  }
}

/** Read a PEM file. Node's TLS takes one that holds nothing fitting as if it were empty. */
function read(path: string, label: "CERTIFICATE" | "PRIVATE KEY"): Buffer {
  const content = contentOf(path);
  if (!new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(content.toString("latin1"))) {
    throw new RequestError(`${quotedPath(path)} holds no ${label.toLowerCase()} in PEM`, {
      advice: `Give a file with a part that begins with -----BEGIN ${label}-----.`,
      section: "requesterror-configuration",
    });
  }
  return content;
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (reason) {
    throw fileError(reason, path, readingAdvice);
  }
}
