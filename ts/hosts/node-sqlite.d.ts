// The part of node:sqlite that is used here; the types of Node 20 have none of it.
declare module "node:sqlite" {
  export const DatabaseSync: import("./sqlite-file.ts").SqliteClass;
}
