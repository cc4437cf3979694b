const asyncHooks = require("node:async_hooks");
const { existsSync, readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { default: JestRuntime } = require("jest-runtime");

/** Under this, Jest looks for the time limit of a file's tests, in the realm in which they run. */
const TIMEOUT = Symbol.for("TEST_TIMEOUT_SYMBOL");

/** Where a file imports a module of the sources, or what the tests of its folder take of them. */
const INNER_IMPORT = /^(?:import|export) (?!type\b)[^;]* from "(?:(?:\.\.\/)+src\/|[^"]*\/inside\.js")/m;
/** What a file of tests imports of its folder and those around it. */
const NEAR_IMPORT = /^(?:import|export) (?!type\b)(?:[^;]* from )?"(\.\.?\/(?!(?:\.\.\/)*support\/)[^"]*)\.js"/gm;

/** Whether a test file, or what it imports of tests beside `test/support`, imports an inner module. */
function ofSources(path, seen = new Set()) {
  if (seen.has(path) || !existsSync(path)) {
    return false;
  }
  seen.add(path);
  const text = readFileSync(path, "utf8");
  const near = [...text.matchAll(NEAR_IMPORT)].map(([, name]) => join(dirname(path), `${name}.ts`));
  return INNER_IMPORT.test(text) || near.some((other) => ofSources(other, seen));
}

/** How often each test file was loaded: Node keeps what it has loaded, and mutation tests run a file again and again. */
const loads = new Map();

/**
 * Keeps for Jest which test or hook runs. There is one at a time, so that a field does for what Jest keeps in an
 * `AsyncLocalStorage`, which would make each promise of the process slower.
 */
class OneAtATime {
  #store;

  run(store, callback) {
    const before = this.#store;
    this.#store = store;
    return Promise.resolve(callback()).finally(() => {
      this.#store = before;
    });
  }

  getStore() {
    return this.#store;
  }
}

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

  /** Load what holds the state of one test file: Jest's own part of it. */
  requireInternalModule(path) {
    delete globalThis[Symbol.for("EVENT_HANDLERS")];
    delete require.cache[path];
    const { AsyncLocalStorage } = asyncHooks;
    asyncHooks.AsyncLocalStorage = OneAtATime;
    try {
      return require(path);
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    }
  }
}

module.exports = { __esModule: true, default: Runtime };
