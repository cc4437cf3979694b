// All transports with much data; the quick tier tries three.
import "./conversation.test.js";
