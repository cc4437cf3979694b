// As many elements as fit into an answer; the quick tier sends a fifth.
import "./elements.test.js";
