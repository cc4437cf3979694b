import { SEARCH_PATH } from "./trust.js";

/** How long a lock is waited for. Locks that are held longer are those of other work; the same is then tried again. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * How long a transaction stands still, at most, between two statements. Whoever is frozen holds no lock for longer, and
 * so for less than others wait for it. A unit is fetched within a transaction, for which {@link patientlySql} is.
 */
const STANDSTILL_MS = 10_000;
/** How often the server looks, during a long statement, whether who asked for it is still there. */
const LOOK_MS = 10_000;

/**
 * Write the statements that begin a transaction. What an operator may have set otherwise holds for it alone, so that a
 * connection of a caller's pool is good, too.
 *
 * @returns the statements
 */
export function beginSql(): string {
  return [
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    `SET LOCAL search_path TO ${SEARCH_PATH}`,
    "SET LOCAL client_encoding TO 'UTF8'",
    "SET LOCAL datestyle TO 'ISO, YMD'",
    "SET LOCAL timezone TO 'UTC'",
    "SET LOCAL bytea_output TO 'hex'",
    "SET LOCAL statement_timeout TO 0",
    patientlySql(false),
    // PostgreSQL has it from 17 on.
    "SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('transaction_timeout', true) IS NOT NULL",
    // Elsewhere it may be refused.
    `SELECT set_config('client_connection_check_interval', '${LOOK_MS}', true) WHERE version() ~ 'linux|darwin|bsd'`,
    `SET LOCAL lock_timeout TO ${LOCK_TIMEOUT_MS}`,
    // The server finds out within two minutes that a machine is gone, and releases what it held.
    "SET LOCAL tcp_keepalives_idle TO 60",
    "SET LOCAL tcp_keepalives_interval TO 10",
    "SET LOCAL tcp_keepalives_count TO 6",
  ].join("; ");
}

/**
 * Write the statement that lets the rest of a transaction stand still between two statements, or no longer.
 *
 * @param patiently whether it may, for as long as it likes
 * @returns the statement
 */
export function patientlySql(patiently: boolean): string {
  return `SET LOCAL idle_in_transaction_session_timeout TO ${patiently ? 0 : STANDSTILL_MS}`;
}
