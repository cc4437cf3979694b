export { anyToObject } from "../../src/json/any.js";
export { messageFromJson, requestToJson } from "../../src/json/message.js";
