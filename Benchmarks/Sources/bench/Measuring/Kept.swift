/// Something that takes long to prepare, and is kept from its first use until its last.
final class Kept<Value> {
  private let make: () -> Value
  private var value: Value?
  private var usesLeft: Int

  init(uses: Int, make: @escaping () -> Value) {
    usesLeft = uses
    self.make = make
  }

  /// Returns it for a use that lasts as long as the caller keeps it.
  func use() -> Value {
    let used = value ?? make()
    usesLeft -= 1
    value = usesLeft > 0 ? used : nil
    return used
  }
}
