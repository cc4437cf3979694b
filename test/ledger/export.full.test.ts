// Failures at all places of a ledger; the quick tier tries some.
import "./export.test.js";
