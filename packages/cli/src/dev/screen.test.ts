/** What the terminal is told to show, over its changes of size. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { openScreen } from "./screen.ts";

class Terminal extends EventEmitter {
  columns = 80;
  rows = 24;
  written = "";
  write(text: string): void {
    this.written += text;
  }
  setRawMode(): void {}
  resume(): void {}
  pause(): void {}
}

test("after a change of its size everything is drawn again, on an empty screen", () => {
  const terminal = new Terminal();
  const lines = ["one", "two"];
  const screen = openScreen({
    output: terminal as never,
    input: new Terminal() as never,
    onKey: () => {},
    onResize: () => screen.draw(lines),
  });
  screen.draw(lines);
  terminal.written = "";
  screen.draw(lines);
  expect(terminal.written).toBe("");
  terminal.emit("resize");
  expect(terminal.written).toBe("\x1b[2J\x1b[1;1Hone\x1b[K\x1b[2;1Htwo\x1b[K");
  screen.close();
  expect(terminal.listenerCount("resize")).toBe(0);
});
