import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ambient } from "../../ts/hosts/ambient.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// A platform's own timer for longer than 2^31 - 1 ms, 24.8 days, goes off at once.
test("a timer goes off when it is due, and not before, however long that is", () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 2 ** 36 })), (ms) => {
      const called = vi.fn();
      ambient.schedule(ms, called);
      vi.advanceTimersByTime(ms - 1);
      expect(called).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(called).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    }),
  );
});

test("a cancelled timer is gone, whenever that is", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 34 }), fc.double({ min: 0, max: 1, noNaN: true }), (ms, part) => {
      const called = vi.fn();
      const cancel = ambient.schedule(ms, called);
      vi.advanceTimersByTime(Math.floor((ms - 1) * part));
      cancel();
      expect(vi.getTimerCount()).toBe(0);
      vi.advanceTimersByTime(ms);
      expect(called).not.toHaveBeenCalled();
    }),
  );
});
