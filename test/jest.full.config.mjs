import quick from "./jest.config.mjs";

/** @type {import("jest").Config} */
export default { ...quick, testMatch: ["<rootDir>/test/**/*.full.test.ts"], testTimeout: 600_000 };
