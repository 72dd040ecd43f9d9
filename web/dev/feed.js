// A stand-in for twinlog while working on the page: it serves dist/app and speaks the page's API and stream, fed by a made-up classroom
// (dev/classroom.js). It is no part of the product, and what it shows is not real; `twinlog up` is.
//
//   node dev/feed.js [port] [messages per second]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { Classroom } from './classroom.js';
import { labs } from './labs.js';

const port = Number(process.argv[2] ?? 7701);
const rate = Number(process.argv[3] ?? 20);
const page = fileURLToPath(new URL('../dist/app/', import.meta.url));
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

const room = new Classroom(rate);
const records = [];
const clients = new Set();

setInterval(() => {
  const fresh = room.step(Date.now()).map((record) => ({ n: records.length + 1, ...record }));
  fresh.forEach((record, index) => {
    record.n = records.length + 1 + index;
  });
  records.push(...fresh);
  if (fresh.length === 0) return;
  for (const client of clients) client.send(JSON.stringify({ type: 'records', records: fresh }));
}, 33);

const server = createServer(async (request, response) => {
  const path = new URL(request.url, 'http://here').pathname;
  const json = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const node = /^\/api\/v1\/nodes\/([^/]+)\/(\w+)$/.exec(path);
  if (node && request.method === 'POST') {
    const problem = room.act(node[1], node[2]);
    return problem ? json(409, { error: { code: 'wrongState', message: problem } }) : json(200, {});
  }
  if (path === '/api/v1/workloads') {
    if (request.method === 'POST') return json(201, room.startWorkload());
    return json(200, { workloads: room.workloads() });
  }
  if (path.startsWith('/api/v1/workloads/') && request.method === 'DELETE') return json(200, room.stopWorkload());
  if (path.startsWith('/api/v1/labs')) return json(...labs(request.method, path, new URL(request.url, 'http://here').searchParams));
  const file = normalize(join(page, path === '/' ? 'index.html' : path));
  if (!file.startsWith(page)) return json(404, {});
  try {
    const content = await readFile(file);
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    response.end(content);
  } catch {
    json(404, { error: { code: 'notFound', message: `no ${path}` } });
  }
});

const sockets = new WebSocketServer({ server, path: '/api/v1/stream' });
sockets.on('connection', (client) => {
  const at = new Date().toISOString();
  client.send(JSON.stringify({ type: 'snapshot', n: 0, at, state: Classroom.empty(), window: { firstN: 1, lastN: records.length }, resynchronised: 0 }));
  for (let from = 0; from < records.length; from += 2000) {
    client.send(JSON.stringify({ type: 'records', records: records.slice(from, from + 2000) }));
  }
  clients.add(client);
  client.on('close', () => clients.delete(client));
});

server.listen(port, '127.0.0.1', () => console.log(`stand-in feed on http://127.0.0.1:${port}/`));
