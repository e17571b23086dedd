import { accessSync, constants } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PATH = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** No network but the page's own, no GPU; the sandbox needs rights that containers don't give. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Why there is no Chromium on this machine; undefined if there is one. */
export const chromiumMissing: string | undefined = (() => {
  try {
    accessSync(PATH, constants.X_OK);
    return undefined;
  } catch {
    return `no Chromium at ${PATH}: install Debian's package "chromium", or set CHROMIUM to another's path`;
  }
})();

/** Starts a Chromium that remembers nothing. */
export function startChromium(): Promise<Browser> {
  if (chromiumMissing) throw new Error(chromiumMissing);
  return chromium.launch({ executablePath: PATH, headless: true, args: FLAGS, timeout: 60_000 });
}
