const { ModernFakeTimers } = require("@jest/fake-timers");
const { TestEnvironment } = require("jest-environment-node");

/** Jest's environment for Node, whose fake timers are those of the realm in which test files run. */
module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
  }
};
