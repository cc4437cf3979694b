export { anyToObject } from "../../src/json/any.js";
export { httpBodyFromJson } from "../../src/json/http-body.js";
export { messageFromJson, requestToJson } from "../../src/json/message-json.js";
