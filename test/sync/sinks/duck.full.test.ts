// With a file of 160 MB, which the quick tier leaves out.
import "./duck.test.js";
