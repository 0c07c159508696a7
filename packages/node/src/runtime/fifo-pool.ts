/**
 * Named pipes for the standard streams of containers. Node's own pipes are sockets, and a program that opens
 * `/dev/stdout` (nginx, shell scripts) cannot open a socket.
 */
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { quote, runScript } from "./shell.ts";

const batch = 16;

export interface OutputPipe {
  readonly readable: Socket;
  /** To be handed to the child and then released, or the reader never sees the end. */
  readonly writeFd: number;
  releaseWriter(): void;
}

export interface InputPipe {
  readonly writable: Socket;
  /** To be handed to the child, which makes it block, and then released. */
  readonly readFd: number;
  releaseReader(): void;
}

export class FifoPool {
  readonly #directory: string;
  readonly #ready: string[] = [];
  #made = 0;
  #filling: Promise<void> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A pipe from a child to us. */
  async open(): Promise<OutputPipe> {
    const path = await this.#take();
    // Neither call blocks: the first is told not to, and then the second finds a reader.
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeFd = openSync(path, constants.O_WRONLY);
    // Both ends are open: the name has done its duty.
    unlinkSync(path);
    const readable = new Socket({ fd: reader, readable: true, writable: false });
    return { readable, writeFd, releaseWriter: () => closeSync(writeFd) };
  }

  /** A pipe from us to a child. */
  async openInput(): Promise<InputPipe> {
    const path = await this.#take();
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    unlinkSync(path);
    const writable = new Socket({ fd: writer, readable: false, writable: true });
    return { writable, readFd, releaseReader: () => closeSync(readFd) };
  }

  async #take(): Promise<string> {
    let path = this.#ready.pop();
    while (path === undefined) {
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = undefined;
      });
      await this.#filling;
      path = this.#ready.pop();
    }
    return path;
  }

  async #fill(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    const paths = Array.from({ length: batch }, () => join(this.#directory, `p${this.#made++}`));
    await runScript([`mkfifo -m 666 ${paths.map(quote).join(" ")}`], {
      code: "SandboxFailed",
      doing: "make named pipes",
    });
    this.#ready.push(...paths);
  }
}
