const globals = new URL("./globals.mjs", import.meta.url).href;
/** A file of the package as it is built, from its root. */
const BUILT = /(?<!\/node_modules\/.*)\/dist\/((?:src|gen)\/.*)\.js$/;
/** Mutation tests change the sources: there tests get these, where others get the package as it is built. */
const ofSources = process.env["TEST_SOURCES"] === "1";

/** Resolve `@jest/globals`, which Jest gives to files alone that it loads itself, and the package. */
export async function resolve(specifier, context, next) {
  if (specifier === "@jest/globals") {
    return { url: globals, shortCircuit: true };
  }
  const found = await next(specifier, context);
  return ofSources ? { ...found, url: found.url.replace(BUILT, "/$1.ts") } : found;
}
