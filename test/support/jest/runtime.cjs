const { existsSync, readFileSync } = require("node:fs");
const { pathToFileURL } = require("node:url");
const { default: JestRuntime } = require("jest-runtime");

/** Under this, Jest looks for the time limit of a file's tests, in the realm in which they run. */
const TIMEOUT = Symbol.for("TEST_TIMEOUT_SYMBOL");

/** Where a test file imports an inner module, or a helper that hands out what one makes. */
const INNER_IMPORT = / from "(\.\.\/)+(src\/|support\/(rest-probe|saving)\.js")/;

/** Whether a test file, or that of the quick tier which it runs, imports an inner module. */
function ofSources(path) {
  const files = new Set([path, path.replace(/\.full(?=\.test\.ts$)/, "")]);
  return [...files].some((file) => existsSync(file) && INNER_IMPORT.test(readFileSync(file, "utf8")));
}

/** How often each test file was loaded: Node keeps what it has loaded, and mutation tests run a file again and again. */
const loads = new Map();

/**
 * Loads test files as Node does, in the realm of the process. What they import is loaded once a worker, not once a file,
 * and is what users load: the package in `dist`, with Node's own modules and errors. A file that imports an inner module
 * of `src` gets the package as its sources.
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
    const url = pathToFileURL(path);
    url.search = ofSources(path) ? "sources" : "";
    url.search += count === 0 ? "" : `&${count}`;
    await import(url.href);
  }

  /** Load what holds the state of one test file: Jest's own part of it, and the handlers that the part before it has added. */
  requireInternalModule(path) {
    delete globalThis[Symbol.for("EVENT_HANDLERS")];
    delete require.cache[path];
    return require(path);
  }
}

module.exports = { __esModule: true, default: Runtime };
