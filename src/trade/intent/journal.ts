/**
 * A store to which intents are written before anything is sent. Each intent has a list of entries, which only grows.
 * Entries are written by {@link Intents}; a journal stores them and need not understand them.
 *
 * The requirements are test cases of `tradewire/journal/contract`.
 */
export interface Journal extends AsyncDisposable {
  /**
   * Reads the entries of an intent.
   *
   * @param id the intent's identifier, 1 to 200 characters
   * @returns the entries, in the order in which they were appended; empty if there is no such intent
   */
  read(id: string): Promise<readonly string[]>;
  /**
   * Appends an entry to an intent. Once this resolves, the entry survives a crash of the process and of the machine.
   *
   * @param id the intent's identifier
   * @param entry the entry, a text on one line
   * @param place the number of entries that the intent has, and whether this one ends it
   * @returns whether it was appended; false if the intent has another number of entries, because another process appended one
   */
  append(id: string, entry: string, place: EntryPlace): Promise<boolean>;
  /**
   * Lists the intents that have not ended.
   *
   * @returns their identifiers, oldest first
   */
  open(): Promise<readonly string[]>;
  /** Closes the journal, as `await using` does. Further calls have no effect. */
  close(): Promise<void>;
}

/** The place of an entry among those of its intent. */
export interface EntryPlace {
  /** The number of entries before it. */
  readonly position: number;
  /** Whether it ends the intent: it is the last one. */
  readonly isLast: boolean;
}
