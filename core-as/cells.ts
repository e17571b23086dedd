/**
 * A run of f64 values in linear memory, addressed like an array.
 *
 * The policies are written against `cells[i]` alone. Here that is a load or a store at a byte
 * address; in the JavaScript twin of the same files it is an element of a Float64Array. This
 * file is the only one that differs, and the twin needs nothing in its place: it is imported
 * for its type.
 */
@unmanaged
export class Cells {
  @inline
  @operator("[]")
  get(index: f64): f64 {
    return load<f64>(changetype<usize>(this) + ((<usize>(<u32>index)) << 3));
  }

  @inline
  @operator("[]=")
  set(index: f64, value: f64): void {
    store<f64>(changetype<usize>(this) + ((<usize>(<u32>index)) << 3), value);
  }
}
