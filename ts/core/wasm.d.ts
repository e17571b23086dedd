// The compiled core, as the build resolves it: bytes in dist/, a module in dist/workerd/.
declare module "sluice:core" {
  const core: Uint8Array | WebAssembly.Module;
  export default core;
}
