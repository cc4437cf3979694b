// The tests of that file with all signals; the quick tier tries half of them.
import "./sync-signals.test.js";
