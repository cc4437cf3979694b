// Longer circles of pages; the quick tier tries short ones.
import "./listed-records.test.js";
