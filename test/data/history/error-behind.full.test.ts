// Errors behind all places of an export; the quick tier tries some.
import "./error-behind.test.js";
