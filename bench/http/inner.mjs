// Requests without sockets: Node's own request and response objects, handed to an app. What sockets
// cost, and how unevenly on a machine with other work to do, then stands in no middleware's figure.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

const REQUESTS = 200;

class Client extends Socket {
  get remoteAddress() {
    return "127.0.0.1";
  }
}
const socket = new Client();

function ask(app) {
  return new Promise((resolve) => {
    const request = new IncomingMessage(socket);
    Object.assign(request, { method: "GET", url: "/", httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: "1.1" });
    request.headers = { host: "localhost" };
    request.rawHeaders = ["Host", "localhost"];
    request.complete = true;
    const response = new ServerResponse(request);
    const { end } = response;
    response.end = function (...args) {
      end.apply(this, args);
      resolve(response);
      return this;
    };
    app(request, response);
  });
}

/** @returns {Promise<number>} µs that a request took, on average over a turn of some ms */
export async function turn(app) {
  const start = performance.now();
  for (let sent = 0; sent < REQUESTS; sent++) {
    const { statusCode } = await ask(app);
    if (statusCode !== 200) throw new Error(`not admitted: ${statusCode}`);
  }
  return ((performance.now() - start) * 1000) / REQUESTS;
}
