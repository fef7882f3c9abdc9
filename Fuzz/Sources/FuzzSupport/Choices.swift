/// An input of the fuzzer, as a row of choices.
///
/// A row that has come to its end chooses zero forever.
public struct Choices {
  private var rest: ArraySlice<UInt8>

  /// Copies what the fuzzer hands over.
  public init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
    // SAFETY: libFuzzer passes the first of `count` bytes.
    rest = unsafe Array(UnsafeBufferPointer(start: start, count: count))[...]
  }

  public var isAtEnd: Bool { rest.isEmpty }

  /// What is left, byte by byte.
  public var bytes: [UInt8] { Array(rest) }

  /// A number from 0 up to, but not including, `limit`.
  public mutating func pick(_ limit: Int) -> Int {
    guard limit > 1, let byte = rest.popFirst() else { return 0 }
    return Int(byte) % limit
  }

  public mutating func flip() -> Bool { pick(2) == 1 }
}
