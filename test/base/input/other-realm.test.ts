import { runInNewContext } from "node:vm";
import { expect, it } from "@jest/globals";
import { createClient, jsonReplacer, openArchive, signerFromSeed } from "tradewire";
import { CoreService } from "tradewire/api";
import { verifySignature } from "tradewire/transaction";
import { csvZip } from "../../support/archives.js";
import { frame, startGrpcServer } from "../../support/grpc-server.js";

/** The same bytes as an array of another realm, as in Jest's jsdom and in contexts of `node:vm`. */
function elsewhere(bytes: Uint8Array): Uint8Array {
  const other: Uint8Array = runInNewContext("Uint8Array.from(numbers)", { numbers: [...bytes] });
  expect(other instanceof Uint8Array).toBe(false);
  return other;
}

it("bytes of another realm are an archive", async () => {
  const bytes = await csvZip(50, "chain-trades-1-1000.csv");
  const rows = [];
  for await (const row of openArchive(elsewhere(bytes)).rows()) {
    rows.push(row);
  }
  expect(rows).not.toEqual([]);
});

it("bytes of another realm are signed and verified", async () => {
  const message = elsewhere(Buffer.from("a message"));
  using signer = signerFromSeed(elsewhere(Buffer.alloc(32, 7)));
  const signature = Buffer.from(await signer.sign(message)).toString("hex");
  expect(verifySignature(message, signature, signer.publicKey)).toBe(true);
  expect(verifySignature(Buffer.from("a message"), signature, signer.publicKey)).toBe(true);
});

it("bytes of another realm are a field of a request", async () => {
  const server = await startGrpcServer();
  server.answer = { pieces: [frame(new Uint8Array())], ending: { "grpc-status": "0" } };
  await using client = createClient({ transport: "grpc", grpc: { url: server.url } });
  await client.service(CoreService).checkRawTransaction({ tx: elsewhere(Uint8Array.of(1, 2, 3)) });
  expect(server.calls[0]?.body.subarray(-3)).toEqual(Buffer.of(1, 2, 3));
  await server.close();
});

it("bytes of another realm become base64 in JSON", () => {
  expect(JSON.stringify({ data: elsewhere(Uint8Array.of(1, 2, 3)) }, jsonReplacer)).toBe('{"data":"AQID"}');
});
