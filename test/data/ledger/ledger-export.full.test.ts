// Failures at all places of a ledger; the quick tier tries some.
import "./ledger-export.test.js";
