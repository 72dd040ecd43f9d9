import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The build goes to dist/app, which git ignores: dist/index.html beside it is the committed placeholder that says how to build the
// page, and stays as it is. A server takes dist/app when it is there.
export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: { outDir: 'dist/app', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
  server: {
    port: 7799,
    proxy: { '/api': { target: process.env.TWINLOG_URL ?? 'http://127.0.0.1:7700', ws: true, changeOrigin: false } },
  },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  // A machine under load is slow; what hangs is ended all the same.
  test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: 60_000 },
});
