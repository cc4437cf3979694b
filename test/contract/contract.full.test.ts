// All operations of the client in all cases over all transports; the quick tier tries some.
import "./contract.test.js";
