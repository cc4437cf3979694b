// All that is tried live over all transports; the quick tier tries some.
import "./live.test.js";
