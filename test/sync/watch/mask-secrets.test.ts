import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ConnectionError } from "tradewire";
import { createErrorLog } from "./inside.js";

/** What the page and `/state` show of an error's text. */
function shownOf(text: string): string | undefined {
  const log = createErrorLog();
  log.add(new ConnectionError(text, { code: Code.Unavailable, advice: text }), { at: 0 });
  const [error] = log.show().errors;
  expect(error?.advice).toBe(error?.message);
  return error?.message;
}

it.each([
  ["https://user:hunter2@node.example/x", "https://***@node.example/x"],
  ["postgres://user:hun@ter2@db/x", "postgres://***@db/x"],
  ["http://hunter2@node.example", "http://***@node.example"],
  ["Authorization: Bearer hunter2.a-b_c=", "Authorization: ***"],
  ["authorization=Basic aHVudGVyMg==", "authorization=***"],
  ["Authorization: Token hunter2", "Authorization: ***"],
  ['authorization: Digest username="me", response="hunter2" was refused', "authorization: *** was refused"],
  ["got bearer hunter2 here", "got bearer *** here"],
  ["GET /x?a=1&password=hunter2&b=2", "GET /x?a=1&password=***&b=2"],
  ["?access_token=hunter2&b=2", "?access_token=***&b=2"],
  ['{"password":"hunter2 \\"x","a":1}', '{"password":***,"a":1}'],
  ['{"body":"{\\"accessToken\\":\\"hunter2\\"}"}', '{"body":"{\\"accessToken\\":***}"}'],
  ["x-api-key: hunter2", "x-api-key: ***"],
  ["host=db password='hunter2 two' user=x", "host=db password=*** user=x"],
  ["passphrase=hunter2 private_key: hunter2", "passphrase=*** private_key: ***"],
  ["Cookie: a=hunter2; b=hunter2", "Cookie: ***"],
  ["ALTER ROLE me PASSWORD 'hunter2'", "ALTER ROLE me PASSWORD ***"],
  ["run with --db-password hunter2 --verbose", "run with --db-password *** --verbose"],
  ["<user>me</user><password>hunter2</password>", "<user>me</user><password>***</password>"],
  ["-----BEGIN PRIVATE KEY-----\nMIIhunter2\n-----END PRIVATE KEY----- is wrong", "*** is wrong"],
  [`mnemonic: ${"word ".repeat(11)}last`, "mnemonic: ***"],
])("%s is shown without the secret", (text, shown) => {
  expect(shownOf(text)).toBe(shown);
});

const NAMES = [
  ...[
    "password",
    "PASSWORD",
    "PGPASSWORD",
    "db_password",
    "dbPassword",
    "passwd",
    "pwd",
    "password2",
    "PASS",
    "dbPass",
  ],
  ...["passphrase", "keyPassphrase", "secret", "clientSecret", "client_secret", "CLIENT-SECRET", "credentials", "jwt"],
  ...["token", "accessToken", "access_token", "refreshToken", "X-Auth-Token", "id.token", "session_id", "sessionId"],
  ...["apiKey", "api_key", "apikey", "X-Api-Key", "api key", "private_key", "privateKey", "private key", "signingKey"],
  ...["seed", "TRADEWIRE_SEED", "walletSeed", "mnemonic", "recoveryPhrase", "seed phrase", "aws_secret_access_key"],
];

/** The forms of a setting with a name and a secret in quotes, which may have any characters. */
const quotedForms: readonly ((name: string, secret: string) => string)[] = [
  (name, secret) => JSON.stringify({ user: "me", [name]: secret, last: 1 }),
  (name, secret) => JSON.stringify({ [name]: [secret] }),
  (name, secret) => JSON.stringify({ body: JSON.stringify({ [name]: secret.replace(/["\\]/g, "") }) }),
  (name, secret) => `{ ${name}: '${secret.replace(/['\\]/g, "\\$&")}' }`,
  (name, secret) => `${name}="${secret.replace(/["\\]/g, "\\$&")}" was refused`,
  (name, secret) => `["${name}"] => ${JSON.stringify(secret)}`,
];

/** The forms with a secret without quotes. */
const bareForms: readonly ((name: string, secret: string) => string)[] = [
  (name, secret) => `${name}=${secret}`,
  (name, secret) => `${name} = ${secret} was refused`,
  (name, secret) => `${name}: ${secret}\nhost: db`,
  (name, secret) => `{${name}: ${secret}}`,
  (name, secret) => `host=db;${name}=${secret}; user=me`,
  (name, secret) => `GET /x?a=1&${name}=${secret}&b=2 failed`,
  (name, secret) => `GET /x?${name}%3D${secret}`,
];

/** The forms that need no name. */
const otherForms: readonly ((secret: string) => string)[] = [
  (secret) => `cannot reach https://user:${secret}@node.example:3007/x`,
  (secret) => `cannot reach postgres://sync.user:${secret}@[::1]:5432/db?sslmode=off`,
  (secret) => `"redis://:${secret}@cache/0" is down`,
  (secret) => `Authorization: Token ${secret}`,
  (secret) => `authorization: ${secret}`,
  (secret) => `{"headers":{"Proxy-Authorization":"AWS4-HMAC-SHA256 ${secret}"}}`,
  (secret) => `rawHeaders: [ 'host', 'x', 'authorization', 'Custom ${secret.replaceAll("'", "")}' ]`,
  (secret) => `rawHeaders: [ 'x-api-key', '${secret.replaceAll("'", "")}' ]`,
  (secret) => `Set-Cookie: session=${secret}; Path=/`,
  (secret) => `Cookie: first=1; session=${secret}`,
];

/** A secret between whose halves any of some characters stand. Both halves must be masked. */
const secretOf = (characters: string) =>
  fc.array(fc.constantFrom(...characters), { maxLength: 6 }).map((middle) => `Hunter2${middle.join("")}zEbra9`);
const inUrl = "/#?@:!$'()*+=%~-_.";
const name = fc.constantFrom(...NAMES);

describe("a secret with any characters is not shown", () => {
  const isMasked = (text: string) => {
    const shown = shownOf(text);
    expect([text, shown?.match(/Hunter2|zEbra9/g)]).toEqual([text, null]);
  };

  it("in quotes, behind a name", () => {
    const secret = secretOf(`${inUrl} ,;&{}[]<>"\\|^\``);
    fc.assert(
      fc.property(fc.constantFrom(...quotedForms), name, secret, (form, key, text) => isMasked(form(key, text))),
    );
  });

  it("without quotes, behind a name", () => {
    const secret = secretOf(`${inUrl}{[<|^\``);
    fc.assert(fc.property(fc.constantFrom(...bareForms), name, secret, (form, key, text) => isMasked(form(key, text))));
  });

  it("in a URL or a header", () => {
    fc.assert(fc.property(fc.constantFrom(...otherForms), secretOf(inUrl), (form, text) => isMasked(form(text))));
  });

  it.each([
    ["a JSON Web Token", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJIdW50ZXIyIn0.Hunter2-zEbra9"],
    ["a token of a service", "push with ghp_Hunter2zEbra9Hunter2zEbra9 failed"],
    ["a signed URL", "https://s3.example/x?X-Amz-Signature=Hunter2zEbra9&x=1"],
    ["an encoded URL", "redirect=https%3A%2F%2Fuser%3AHunter2zEbra9%40node.example"],
    ["a private key whose end was cut off", "-----BEGIN EC PRIVATE KEY-----\nHunter2zEbra9"],
    ["a URL that was cut off", `${"x ".repeat(8188)}postgres://user:Hunter2zEbra9@db`],
  ])("as %s", (_, text) => isMasked(text));
});

describe("what users need is shown", () => {
  it.each([
    "the block 1 is not there: see https://node.example/a@b",
    'the node answered: {"code":5,"message":"no market ID"}',
    "Unexpected token '}', \"{a}\" is not valid JSON",
    'password authentication failed for user "sync"',
    "https://node.example:3007/api/v2/orders?partyId=1: HTTP 404",
    "the public key ends: 5, the bypass: 6, key=7, exceed: 8",
    "block=5, tokens: 12, publicKey=abc, pubKey: abc",
    "the token expired; the signature does not cover its input data",
    "connect ECONNREFUSED 127.0.0.1:5432",
    'relation "tradewire.segments" does not exist',
  ])("%s", (text) => {
    expect(shownOf(text)).toBe(text);
  });

  it("identifiers of parties, markets and orders", () => {
    const id = fc
      .array(fc.constantFrom(..."0123456789abcdef"), { minLength: 64, maxLength: 64 })
      .map((all) => all.join(""));
    const forms = [
      "party %",
      "party: %",
      "partyId=%",
      '{"marketId":"%"}',
      "order % was not found",
      "/orders/%",
      "pubkey: %",
    ];
    fc.assert(
      fc.property(id, fc.constantFrom(...forms), (digits, form) => {
        const text = form.replace("%", digits);
        expect(shownOf(text)).toBe(text);
      }),
    );
  });
});
