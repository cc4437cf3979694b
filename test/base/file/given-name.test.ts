import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { contentDispositionName } from "../../../src/base/file/given-name.js";

describe("the name that a response gives to its body", () => {
  it.each([
    ["attachment; filename=a-1.zip", "a-1.zip"],
    ['attachment; filename="a; b.zip"', "a; b.zip"],
    ["attachment; filename*=UTF-8''caf%C3%A9.csv", "café.csv"],
    ['attachment; filename="../a.zip"', "../a.zip"],
  ])("is read as it is: %s", (header, name) => {
    expect(contentDispositionName(new Headers({ "content-disposition": header }))).toBe(name);
  });

  it.each(["attachment", "", ";", 'attachment; filename="a.zip', "filename=a.zip"])("is not there: %j", (header) => {
    expect(contentDispositionName(new Headers({ "content-disposition": header }))).toBeUndefined();
  });

  it("is a text, if it is there, whatever the header says", () => {
    const part = fc.constantFrom("filename", "filename*", "=", ";", '"', "\\", "%", "%ff", "UTF-8''", "a", " ", "é");
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const header = `attachment;filename${parts.join("")}`;
        expect(["string", "undefined"]).toContain(
          typeof contentDispositionName(new Headers({ "content-disposition": header })),
        );
      }),
    );
  });

  it("is not there without the header", () => {
    expect(contentDispositionName(new Headers())).toBeUndefined();
  });
});
