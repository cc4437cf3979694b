import "./reference.test.js";
