#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

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

/// Ends the process, for the fuzzer to keep the input, unless `condition` holds.
public func require(
  _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #file,
  line: UInt = #line
) {
  if !condition { fatalError(sentence(), file: file, line: line) }
}

/// What observers capture: knows whether it is alive, and how many are.
public final class Canary: Sendable {
  /// Counts canaries; used by one thread.
  public final class Cage: @unchecked Sendable {
    // SAFETY: a fuzzer runs on one thread.
    public fileprivate(set) var count = 0
    public init() {}
  }

  private let cage: Cage

  public init(_ cage: Cage) {
    self.cage = cage
    cage.count += 1
  }

  deinit { cage.count -= 1 }

  public func check() { require(cage.count > 0, "An observer was called after its release") }
}

private let isTracing = unsafe getenv("FUZZ_TRACE") != nil

/// Says what an input does, if `FUZZ_TRACE` is in the environment.
public func trace(_ sentence: @autoclosure () -> String) {
  if !isTracing { return }
  print(sentence())
  // What follows may be a trap.
  fflush(nil)
}
