import Foundation

/// How much the tests do that repeat something.
///
/// Each run of `swift test` does a part, so that it is over in a minute. `CAMPANILE_LONG_TESTS=1` does all.
package enum Effort {
  /// Whether the tests do all.
  package static let isLong = ProcessInfo.processInfo.environment["CAMPANILE_LONG_TESTS"] == "1"

  /// How often something is repeated: a quarter of that under Thread Sanitizer, which takes ten times as
  /// long, and does not need the moment of a race to find it.
  ///
  /// - Parameters:
  ///   - usual: Enough for the faults that the test is for to show.
  ///   - long: Enough for rarer ones.
  package static func times(_ usual: Int, long: Int) -> Int {
    #if TSAN
      isLong ? long : max(1, usual / 4)
    #else
      isLong ? long : usual
    #endif
  }

  /// The arguments of a test: the first ones, or all.
  package static func some<Argument>(_ count: Int, of all: [Argument]) -> [Argument] {
    isLong ? all : Array(all.prefix(count))
  }
}
