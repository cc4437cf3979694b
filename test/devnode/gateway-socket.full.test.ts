// What slow clients cost the node, with much data.
import "./gateway-socket.test.js";
