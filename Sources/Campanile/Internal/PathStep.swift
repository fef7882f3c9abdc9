/// A place that a message has passed through: a center of any process, or a carrier between
/// processes.
///
/// Two places in two processes have the same number about as often as two random 64-bit numbers are
/// equal.
package struct PathStep: Hashable, Sendable {
  package let number: UInt64

  package init(number: UInt64) { self.number = number }

  /// The step through a center of this process, which lives.
  package init(_ center: AnyObject) {
    number = Self.process ^ UInt64(UInt(bitPattern: ObjectIdentifier(center)))
  }

  private static let process = UInt64.random(in: 0 ... .max)
}
