export { hostCheck } from "../../../src/base/http-server/hardening.js";
export { createErrorLog } from "../../../src/sync/watch/error-reports.js";
export { loadMetrics } from "../../../src/sync/watch/metrics.js";
export { pageScript } from "../../../src/sync/watch/page.js";
export { parseListen } from "../../../src/sync/watch/watch-server.js";
