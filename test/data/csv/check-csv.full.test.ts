// The properties of that file with all inputs; the quick tier tries a third.
import "./check-csv.test.js";
