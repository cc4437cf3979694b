// What slow clients cost the node, with much data.
import "./gateway-websocket.test.js";
