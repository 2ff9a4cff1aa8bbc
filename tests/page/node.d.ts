/** The parts of node's library that the unit tests use. */

declare module "node:test" {
  export function test(name: string, body: () => unknown): Promise<void>;
}

declare module "node:assert/strict" {
  const assert: {
    ok(value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    throws(body: () => unknown, expected?: RegExp, message?: string): void;
    rejects(body: () => Promise<unknown>, expected?: RegExp, message?: string): Promise<void>;
    match(actual: string, expected: RegExp, message?: string): void;
  };
  export default assert;
}

declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array>;
  export function readFile(path: URL, encoding: "utf8"): Promise<string>;
  export function readdir(path: URL, options: { recursive: true }): Promise<string[]>;
}

declare const Buffer: { from(data: ArrayBufferLike): { toString(encoding: "base64"): string } };
