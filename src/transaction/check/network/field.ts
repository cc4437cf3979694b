import type { Problem } from "../problem.js";

/** A problem that the network's own check of a command finds. The message is the network's text. */
export interface NetworkProblem extends Problem {
  /** The name that the network gives the field in its refusal, such as `transfer.kind.factor`. */
  readonly property: string;
}

/** The name that the network uses for a problem that belongs to no field. */
const NO_PROPERTY = "*";

/** A field of a command: its path in Protobuf's JSON, and its name in the network's refusals. */
export class Field {
  readonly path: string;
  readonly property: string;

  constructor(path: string, property = snakeCase(path)) {
    this.path = path;
    this.property = property;
  }

  /**
   * Returns a field of the message in this one.
   *
   * @param name the field's name in Protobuf's JSON
   * @param property the network's name of it, where that is not `name` in snake case
   */
  field(name: string, property = snakeCase(name)): Field {
    return new Field(`${this.path}.${name}`, `${this.property}.${property}`);
  }

  /** Returns the element of this list at an index. */
  item(index: number): Field {
    return new Field(`${this.path}[${index}]`, `${this.property}.${index}`);
  }

  /** Returns this field under another name of the network's. */
  named(property: string): Field {
    return new Field(this.path, property);
  }

  /** Returns a problem with this field. */
  problem(message: string): NetworkProblem {
    return { path: this.path, property: this.property, message };
  }

  /** Returns a problem that the network names no field for. */
  general(message: string): NetworkProblem {
    return { path: this.path, property: NO_PROPERTY, message };
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
