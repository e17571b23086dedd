// A network between two processes, in the hands of a test: plain TCP, which carries, refuses,
// swallows or delays what goes through it.
import { type AddressInfo, createServer, type Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What becomes of the bytes of one direction. */
type Way = "carry" | "swallow";

export class TcpProxy {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  /** The port that it leads to; connections from now on go there. */
  target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #refusing = false;
  #there: Way = "carry";
  #back: Way = "carry";
  #delayMs = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.target = target;
    server.on("connection", (near) => this.#connected(near));
  }

  static async start(target: number): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new TcpProxy(server, target);
  }

  /** Ends all connections with a reset, and refuses new ones the same way. */
  cut(): void {
    this.#refusing = true;
    this.#reset();
  }

  /** Lets nothing through any more, and says nothing of it. */
  swallow(): void {
    this.#there = "swallow";
    this.#back = "swallow";
  }

  /** Lets requests through, and none of the answers. */
  swallowAnswers(): void {
    this.#back = "swallow";
  }

  /** Carries everything so much later, each way. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /**
   * Carries everything again. What was swallowed stays lost: a connection that lacks bytes never
   * carries anything again, nor is it ended, as when the state of a router in between is gone.
   */
  heal(): void {
    this.#refusing = false;
    this.#there = "carry";
    this.#back = "carry";
    this.#delayMs = 0;
  }

  async close(): Promise<void> {
    this.#reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #connected(near: Socket): void {
    if (this.#refusing) {
      near.on("error", () => {}).resetAndDestroy();
      return;
    }
    const far = new Socket({ allowHalfOpen: true });
    far.connect(this.target, "127.0.0.1");
    this.#carry(near, far, () => this.#there);
    this.#carry(far, near, () => this.#back);
  }

  #carry(from: Socket, to: Socket, way: () => Way): void {
    let dead = false;
    let sent = Promise.resolve();
    const later = (deliver: () => void) => {
      dead ||= way() === "swallow";
      if (dead) return;
      const waited = this.#delayMs > 0 ? sleep(this.#delayMs) : undefined;
      sent = sent.then(() => waited).then(deliver);
    };
    this.#sockets.add(from);
    from.setNoDelay(true);
    from.on("data", (bytes) => later(() => void to.write(bytes)));
    from.on("end", () => later(() => void to.end()));
    from.on("error", () => later(() => void to.resetAndDestroy()));
    from.on("close", () => this.#sockets.delete(from));
  }
}
