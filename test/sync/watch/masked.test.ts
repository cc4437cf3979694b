import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { ConnectionError } from "../../../src/errors/index.js";
import { createErrorLog } from "../../../src/sync/watch/reports.js";

it.each([
  ["https://user:hunter2@node.example/x", "https://***@node.example/x"],
  ["postgres://user:hun@ter2@db/x", "postgres://***@db/x"],
  ["http://hunter2@node.example", "http://***@node.example"],
  ["Authorization: Bearer hunter2.a-b_c=", "Authorization: ***"],
  ["authorization=Basic aHVudGVyMg==", "authorization=***"],
  ["got bearer hunter2 here", "got bearer *** here"],
  ["GET /x?a=1&password=hunter2&b=2", "GET /x?a=1&password=***&b=2"],
  ["?access_token=hunter2&b=2", "?access_token=***&b=2"],
  ['{"password":"hunter2 \\"x","a":1}', '{"password":***,"a":1}'],
  ["x-api-key: hunter2", "x-api-key: ***"],
  ["host=db password='hunter2 two' user=x", "host=db password=*** user=x"],
  ["the block 1 is not there: see https://node.example/a@b", "the block 1 is not there: see https://node.example/a@b"],
])("%s is shown without the secret", (text, shown) => {
  const log = createErrorLog();
  log.add(new ConnectionError(text, { code: Code.Unavailable, advice: text }), { at: 0 });
  expect(log.show().errors).toMatchObject([{ message: shown, advice: shown }]);
});
