export { hostCheck } from "../../../src/http-server/own-host.js";
export { parseListen } from "../../../src/sync/watch/address.js";
export { pageScript } from "../../../src/sync/watch/page/page.js";
export { createErrorLog } from "../../../src/sync/watch/reports.js";
