const Environment = require("../support/jest/environment.cjs");

/**
 * Gives Stryker's state to the realm in which test files run, with what they test. Modules are loaded there once for all
 * mutants, so the one that is active is named before each file.
 */
module.exports = class extends Environment {
  async setup() {
    await super.setup();
    globalThis.__stryker__ = this.global.__stryker__;
    globalThis.__stryker__.activeMutant = process.env.__STRYKER_ACTIVE_MUTANT__;
  }
};
