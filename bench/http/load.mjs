// A load of keep-alive connections, each with one request under way, that costs itself little.
import { connect } from "node:net";

const REQUEST = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
const BODY = "\r\n\r\nhello";

/**
 * Loads a server for `ms`.
 * @returns {Promise<number[]>} how long each request took, ms
 */
export async function load(port, connections, ms) {
  const times = [];
  const end = performance.now() + ms;
  await Promise.all(Array.from({ length: connections }, () => converse(port, end, times)));
  return times;
}

function converse(port, end, times) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1");
    let answer = "";
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      if (sentAt < end) socket.write(REQUEST);
      else socket.end();
    };
    socket.on("connect", send).on("error", reject).on("close", resolve);
    socket.on("data", (chunk) => {
      answer += chunk;
      if (!answer.endsWith(BODY)) return;
      if (!answer.startsWith("HTTP/1.1 200")) return reject(new Error(`not admitted: ${answer.slice(0, 100)}`));
      answer = "";
      times.push(performance.now() - sentAt);
      send();
    });
  });
}
