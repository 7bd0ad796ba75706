// A server for the files of a folder, and nothing else.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** Serves `folder` on a free port of this machine. Gives the address, with a slash at its end, and a way to stop. */
export async function serve(folder) {
  const root = resolve(folder);
  await stat(join(root, 'index.html')).catch(() => {
    throw new Error(`${root} has no index.html`);
  });
  const server = createServer(async (request, response) => {
    let file;
    try {
      const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
      file = normalize(join(root, path.endsWith('/') ? `${path}index.html` : path));
      if (!file.startsWith(root + sep) || !(await stat(file)).isFile()) throw new Error('no file');
    } catch {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream',
      // The browser is as young as the server, so that nothing in its cache is stale. What is cached is compiled once.
      'Cache-Control': 'max-age=86400',
    });
    createReadStream(file).pipe(response);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, stop };
}
