import { defineConfig } from 'vitest/config';

// The end-to-end tests drive a real browser against a running classroom; one file at a time, because they share it.
export default defineConfig({
  test: { include: ['e2e/**/*.e2e.ts'], environment: 'node', fileParallelism: false, testTimeout: 120_000, hookTimeout: 60_000 },
});
