import { exact, lease, optimistic } from "sluice";

type Design = ReturnType<typeof exact>;

// biome-ignore lint/suspicious/noExplicitAny: options come from the command line, and designs check them.
const DESIGNS: Record<string, (options: any) => Design> = { exact, lease, optimistic };

/** A design from a line like "lease:block=8,ttl=2s". */
export function designOf(line: string): Design {
  const [kind = "", list = ""] = line.split(/:(.*)/s);
  const options: Record<string, number | string> = {};
  for (const part of list.split(",").filter((part) => part !== "")) {
    const [name = "", value = ""] = part.split("=");
    options[name] = Number.isNaN(Number(value)) ? value : Number(value);
  }
  const design = DESIGNS[kind];
  if (!design) throw new RangeError(`design must be one of ${Object.keys(DESIGNS).join(", ")}; got "${line}"`);
  return design(options);
}
