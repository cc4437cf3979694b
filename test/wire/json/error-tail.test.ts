import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ErrorObject } from "tradewire";
import { createErrorTail } from "../../../src/wire/json/error-tail.js";
import { cutAt, cutEvery, noise } from "../../support/archives.js";
import { runs } from "../../support/tier.js";

const failures: readonly ErrorObject[] = [
  { code: Code.Internal, message: "no segment", details: [] },
  {
    code: Code.Internal,
    message: `{"error":{}} "${"é\n\\".repeat(15_000)}`,
    details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", code: 1, message: "x", inner: '{"error":' }],
  },
];

it.each(failures)("an error object behind data is found however the body is split: %#", (failure) => {
  const data = noise(5000);
  const body = Buffer.concat([data, Buffer.from(JSON.stringify({ error: failure }))]);
  const split = fc.array(fc.oneof(fc.nat(body.length), fc.integer({ min: 4990, max: 5020 })), { maxLength: 20 });
  fc.assert(
    fc.property(split, (cuts) => {
      const tail = createErrorTail();
      const own = cutAt(body, cuts).map((piece) => Buffer.from(tail.push(piece)));
      const { rest, error } = tail.finish();
      expect(Buffer.concat([...own, rest]).equals(data)).toBe(true);
      expect(error?.object).toEqual(failure);
    }),
    { numRuns: runs(60) },
  );
});

describe("data that holds the beginning of an error object", () => {
  const piece = fc.oneof(
    fc.constantFrom('{"error":', '{"err', '{"error":{"error":', '{"error":{}} ', "PK\0\x01", "plain").map(Buffer.from),
    fc.uint8Array({ maxLength: 40 }).map(Buffer.from),
  );

  it("is lost nowhere", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(400), { maxLength: 20 }), (pieces, cuts) => {
        const data = Buffer.concat([...pieces, Buffer.of(0)]);
        const tail = createErrorTail();
        const given = cutAt(data, cuts).map((bytes) => Buffer.from(tail.push(bytes)));
        const { rest, error } = tail.finish();
        expect(Buffer.concat([...given, rest]).equals(data)).toBe(true);
        expect(error).toBeUndefined();
      }),
      { numRuns: runs(300) },
    );
  });

  it("is held back up to a limit, in a time that grows with its size", () => {
    const data = Buffer.from('{"error":'.repeat(700_000));
    for (const size of [100, 100_000, data.length]) {
      const tail = createErrorTail();
      let given = 0;
      let held = 0;
      let most = 0;
      for (const bytes of cutEvery(data, size)) {
        const free = tail.push(bytes).length;
        given += free;
        held += bytes.length - free;
        most = Math.max(most, held);
      }
      expect(most).toBeLessThanOrEqual(1024 * 1024);
      expect(given + tail.finish().rest.length).toBe(data.length);
    }
  });
});
