const { pathToFileURL } = require("node:url");
const { default: JestRuntime } = require("jest-runtime");

/** Under this, Jest looks for the time limit of a file's tests, in the realm in which they run. */
const TIMEOUT = Symbol.for("TEST_TIMEOUT_SYMBOL");

/** How often each test file was loaded: Node keeps what it has loaded, and mutation tests run a file again and again. */
const loads = new Map();

/**
 * Loads test files as Node does, in the realm of the process. What they import is loaded once a worker, not once a file,
 * and is what users load: the package in `dist`, with Node's own modules and errors.
 */
class Runtime extends JestRuntime {
  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    const { jest, ...globals } = this.requireModuleOrMock(path, "@jest/globals");
    const setTimeout = (milliseconds) => {
      globalThis[TIMEOUT] = milliseconds;
    };
    delete globalThis[TIMEOUT];
    globalThis[Symbol.for("jest.globals")] = { ...globals, jest: { ...jest, setTimeout } };
    Error.prepareStackTrace = undefined; // Jest's would leave out the maps that Node knows.
    const count = loads.get(path) ?? 0;
    loads.set(path, count + 1);
    await import(`${pathToFileURL(path).href}${count === 0 ? "" : `?${count}`}`);
  }

  /** Load what holds the state of one test file: Jest's own part of it, and the handlers that the part before it has added. */
  requireInternalModule(path) {
    delete globalThis[Symbol.for("EVENT_HANDLERS")];
    delete require.cache[path];
    return require(path);
  }
}

module.exports = { __esModule: true, default: Runtime };
