// A file of 160 MB into both sinks; the quick tier loads it into one.
import "./duck.test.js";
