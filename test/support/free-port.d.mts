/**
 * Find a port of loopback that nothing listens on. The system gives it to nobody who asks for any port, so that it stays
 * free until the test uses it, and while a server of the test is started again.
 */
export function freePort(): Promise<number>;
