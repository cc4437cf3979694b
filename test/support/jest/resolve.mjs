const globals = new URL("./globals.mjs", import.meta.url).href;
/** The package, and what it exports. */
const PACKAGE = /^tradewire(\/|$)/;
/** A file of the package as it is built, from its root. */
const BUILT = /(?<!\/node_modules\/.*)\/dist\/((?:src|gen)\/.*)\.js$/;
/** A file of tests, other than those that Jest loads. */
const TEST = /\/test\/(?!support\/jest\/)[^?]*$/;
/** Mutation tests change the sources: there all tests get these. */
const ofSources = process.env["TEST_SOURCES"] === "1";
/** Marks a test file, and what it imports of tests, that get the package's sources, where others get what is built of them. */
const SOURCES = "?sources";

/**
 * Resolve `@jest/globals`, which Jest gives to files alone that it loads itself, and the package, also for the examples,
 * which are packages of their own. Mutation tests have a copy of all files, whose package is the copied one. A test of inner
 * modules gets the package as its sources too: a class of an inner module and the same one of the package are then one.
 */
export async function resolve(specifier, context, next) {
  if (specifier === "@jest/globals") {
    return { url: globals, shortCircuit: true };
  }
  const getsSources = ofSources || context.parentURL?.includes(SOURCES); // Node changes the context below.
  const found = await next(specifier, context).catch((reason) =>
    PACKAGE.test(specifier) ? next(specifier, { ...context, parentURL: import.meta.url }) : Promise.reject(reason),
  );
  if (!getsSources) {
    return found;
  }
  const url = found.url.replace(BUILT, "/$1.ts");
  return { ...found, url: TEST.test(url) ? url + SOURCES : url };
}
