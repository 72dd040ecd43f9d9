/**
 * How long anything is waited for before a test gives up. It bounds a failure only: what comes is seen when it comes. A machine that does much
 * else may stand still for seconds, and its clusters then hold elections besides.
 */
export const PATIENCE_MS = 90_000;
