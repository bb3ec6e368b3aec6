// node redis.js PORT REDIS_URL
const { createServer } = require("node:http");
const { createClient } = require("redis");

const redis = createClient({ url: process.argv[3] });
const server = createServer(async (request, response) => {
  const body = JSON.stringify({ foo: await redis.get("foo") });
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
  response.end(body);
});
redis.connect().then(() => server.listen(Number(process.argv[2]), "127.0.0.1"));
