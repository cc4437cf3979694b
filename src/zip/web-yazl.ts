// In the place of yazl in browsers (`#yazl` in package.json). Archives are written to files only, which browsers refuse before.
export const ZipFile = undefined;
