// The values of all tables; the quick tier tries some.
import "./duck-contract.test.js";
