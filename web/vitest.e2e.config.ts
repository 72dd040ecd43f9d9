import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from './e2e/patience.js';

// The end-to-end tests drive a real browser against a running classroom; one file at a time, because they share it.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 4 * PATIENCE_MS,
    hookTimeout: 3 * PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS, interval: 50 } },
  },
});
