// Longer circles of pages; the quick tier tries short ones.
import "./records.test.js";
