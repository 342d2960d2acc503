import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Event streams and nothing else: a head, a comment, and a comment to all of them every five seconds. */
const open = new Set<http.ServerResponse>();
const server = http.createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': hello\n\n');
  open.add(response);
  response.once('close', () => open.delete(response));
});
setInterval(() => {
  for (const response of open) response.write(': ping\n\n');
}, 5_000);
server.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0)); // the bench is over, however it ended
