// Reads the imports of every source file, and says which of them break the table of layers.
import { parseAst } from "vitest/node";

/**
 * Who may import whom. A folder of ts/, or a file beside them, is a layer; the files beside them
 * that are not named here are the layer "limiter". A layer may always import itself.
 */
const BASE = ["contract", "errors"];
const ARITHMETIC = [...BASE, "key", "core", "policies"];
const LEDGER = [...ARITHMETIC, "ledger"];
/** What the root entry is made of. It does without whatever asks ledgers: links bring that. */
const ROOT = [
  ...ARITHMETIC,
  "designs",
  ...["ledger/messages.ts", "ledger/terms.ts", "ledger/leases.ts", "ledger/durability.ts"],
  ...["link/terms.ts", "link/lease-hold.ts"],
];
const DESIGNS = [...LEDGER, "link", "designs"];
const HOLDERS = [...DESIGNS, "holders"];
const HOSTS = [...HOLDERS, "middle", "hosts/ambient.ts"];
const LAYERS: Record<string, readonly string[]> = {
  contract: [],
  errors: ["contract"],
  key: BASE,
  core: [...BASE, "key"],
  policies: BASE,
  ledger: ARITHMETIC,
  link: LEDGER,
  middle: [...LEDGER, "link"],
  designs: ROOT,
  holders: [...DESIGNS, "limiter.ts"],
  limiter: ROOT,
  index: [...ROOT, "limiter", "hosts/ambient.ts"],
  "hosts/ambient.ts": BASE,
  hosts: HOSTS,
  sim: [...HOSTS, "limiter"],
  http: [...BASE, "policies", "limiter", "index"],
  cli: [...BASE, "policies", "sim", "index"],
  console: [...DESIGNS, "limiter", "hosts", "sim", "http", "index"],
};

/**
 * Folders whose files stand side by side and know nothing of each other, but for the files that
 * all of them share, and those that gather all. `node-server.ts` is a part of `node.ts`.
 */
const SIBLINGS: Record<string, { shared: readonly string[]; gather: readonly string[] }> = {
  policies: { shared: ["duration.ts", "policy.ts", "reduce.ts", "spec.ts"], gather: ["spec.ts"] },
  designs: {
    shared: ["design.ts", "link.ts", "terms.ts"],
    gather: [],
  },
  holders: {
    shared: ["holder.ts", "at-ledger.ts", "lease-holder.ts", "linked-limiter.ts"],
    gather: ["over-ledgers.ts"],
  },
  hosts: {
    shared: [
      "ambient.ts",
      "embedded.ts",
      "sqlite-file.ts",
      "serve.ts",
      "ledger-handler.ts",
      "remote-link.ts",
      "regional.ts",
      "wire.ts",
      "durable-object-store.ts",
    ],
    gather: [],
  },
};

/** Platform modules, and where they belong. The core is one: each build brings its own. */
const PLATFORMS: Record<string, RegExp> = {
  hosts: /./,
  cli: /^node:/,
  core: /^sluice:core$/,
  // Their types; test/package checks that none of them is needed.
  http: /^(express|fastify|hono)$/,
};

/** Time, timers and randomness, which only hosts may touch, and the command's entry. */
const AMBIENT =
  /^(setTimeout|setInterval|setImmediate|performance|crypto|process|Math|Math\.random|Date|Date\.now|new Date\(\))$/;
const MAY_TOUCH = /^(hosts\/|cli\/)/;
const CLOCK = /^(Date|Date\.now|new Date\(\)|performance|setTimeout|setInterval|setImmediate)$/;
const MAY_TELL_TIME = /^(hosts\/|cli\/main\.ts$)/;

interface Node {
  type: string;
  [property: string]: unknown;
}

/** What breaks the table in the file at `path` (under ts/) with that source. */
export function violations(path: string, source: string): string[] {
  const layer = layerOf(path);
  if (!layer) return [`${path} is in no layer: give its folder a row in the table`];
  const { imports, touched } = read(source);
  return [
    ...imports.map((specifier) => importViolation(path, layer, specifier)),
    ...touched.map((name) => {
      if (!MAY_TOUCH.test(path)) return `${path} touches ${name}: only hosts may`;
      return CLOCK.test(name) && !MAY_TELL_TIME.test(path) ? `${path} tells time by ${name}: it must be given` : "";
    }),
  ].filter((violation) => violation !== "");
}

function layerOf(path: string): string | undefined {
  if (path in LAYERS) return path;
  const [head = "", inFolder] = path.split("/");
  const name = inFolder === undefined ? head.replace(/(\.d)?\.ts$/, "") : head;
  if (name in LAYERS) return name;
  return inFolder === undefined ? "limiter" : undefined;
}

function importViolation(path: string, layer: string, specifier: string): string {
  if (!specifier.startsWith(".")) {
    return PLATFORMS[layer]?.test(specifier) ? "" : `${path} imports ${specifier}, which is a platform's`;
  }
  if (!specifier.endsWith(".ts")) return `${path} imports ${specifier} without its extension`;
  const target = new URL(specifier, `file:///ts/${path}`).pathname.replace("/ts/", "");
  const targetLayer = layerOf(target) ?? target;
  const allowed = LAYERS[layer] as readonly string[];
  if (targetLayer !== layer && !allowed.includes(targetLayer) && !allowed.includes(target)) {
    return `${path} imports ${target}: ${layer} may import ${allowed.join(", ") || "nothing"}`;
  }
  return targetLayer === layer && !mayKnow(layer, path, target) ? `${path} imports ${target}, its sibling` : "";
}

function mayKnow(layer: string, path: string, target: string): boolean {
  const rule = SIBLINGS[layer];
  const [from, to] = [path, target].map((file) => file.slice(layer.length + 1)) as [string, string];
  if (!rule || rule.shared.includes(to) || rule.gather.includes(from)) return true;
  return to.startsWith(`${from.replace(/\.ts$/, "")}-`);
}

/** Every module that a source names, for types too, and everything ambient that it touches. */
function read(source: string): { imports: string[]; touched: string[] } {
  const imports: string[] = [];
  const touched: string[] = [];
  walk(parseAst(source, { lang: "ts" }) as unknown as Node, (node, parent) => {
    // Static and dynamic imports, re-exports, and import("…") in a type.
    const from = node.source as Node | null | undefined;
    if (from?.type === "Literal") imports.push(String(from.value));
    if (node.type === "ImportExpression" && from?.type !== "Literal") imports.push("a module named at run time");
    const name = ambientName(node, parent);
    if (AMBIENT.test(name)) touched.push(name);
  });
  return { imports, touched };
}

/** "Date.now", "new Date()", or a variable's name, "Date" where it is handed on; of `globalThis.x` it is x. */
function ambientName(node: Node, parent: Node | undefined): string {
  if (node.type === "NewExpression" && nameOf(node.callee) === "Date" && (node.arguments as Node[]).length === 0) {
    return "new Date()";
  }
  if (node.type === "MemberExpression") {
    const owner = nameOf(node.object);
    return owner === "globalThis" ? nameOf(node.property) : `${owner}.${nameOf(node.property)}`;
  }
  if (!parent || parent.type.startsWith("TS")) return "";
  const isPropertyName = !parent.computed && (node === parent.property || node === parent.key);
  // Date and Math as such are no harm: what is called on them is looked at above.
  const isOwner = /^(Date|Math)$/.test(nameOf(node)) && (node === parent.object || node === parent.callee);
  return isPropertyName || isOwner ? "" : nameOf(node);
}

function nameOf(node: unknown): string {
  const { type, name } = node as Node;
  return type === "Identifier" ? String(name) : "";
}

function walk(node: Node, visit: (node: Node, parent: Node | undefined) => void, parent?: Node): void {
  visit(node, parent);
  for (const child of Object.values(node).flat()) {
    if (child && typeof (child as Node).type === "string") walk(child as Node, visit, node);
  }
}
