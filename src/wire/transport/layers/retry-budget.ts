/** The budget of a client's retries. */
export interface RetryBudget {
  /** Returns whether a call that was sent may be retried. */
  allowsRetry(): boolean;
  onSuccess(): void;
  /** Records an attempt that was sent and that failed in a way that a retry could fix. */
  onFailure(): void;
}

/**
 * Creates a retry budget: the token bucket of gRPC's proposal A6 (github.com/grpc/proposal, A6-client-retries.md, "Throttling
 * Retry Attempts"). Each failure takes a token, each success returns a part of one, and calls are retried while more than half of
 * the tokens are left. A node where most calls fail gets few retries; in the long run, a node gets at most `tokenRatio` times as
 * many retries as other calls.
 */
export function createRetryBudget(maxTokens: number, tokenRatio: number): RetryBudget {
  let tokens = maxTokens;
  return {
    allowsRetry: () => tokens > maxTokens / 2,
    onSuccess() {
      tokens = Math.min(tokens + tokenRatio, maxTokens);
    },
    onFailure() {
      tokens = Math.max(tokens - 1, 0);
    },
  };
}
