/// A place that a message has come through: a center of any process, or what carries messages between
/// processes.
///
/// Two places of two processes have the same number about as often as two random numbers of 64 bits
/// are equal.
package struct PathStep: Hashable, Sendable {
  package let number: UInt64

  package init(number: UInt64) { self.number = number }

  /// The step through a center of this process, which lives.
  package init(_ center: AnyObject) {
    number = Self.process ^ UInt64(UInt(bitPattern: ObjectIdentifier(center)))
  }

  private static let process = UInt64.random(in: 0 ... .max)
}
