/** Give a global of Jest as the test file that runs has it: this module is loaded once for all files of a worker. */
function current(name) {
  const given = () => globalThis[Symbol.for("jest.globals")][name];
  return new Proxy(() => undefined, {
    apply: (_, self, args) => Reflect.apply(given(), self, args),
    get: (_, key) => given()[key],
  });
}

export const afterAll = current("afterAll");
export const afterEach = current("afterEach");
export const beforeAll = current("beforeAll");
export const beforeEach = current("beforeEach");
export const describe = current("describe");
export const expect = current("expect");
export const it = current("it");
export const jest = current("jest");
export const test = current("test");
