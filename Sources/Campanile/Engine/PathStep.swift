/// A place that a message has passed through: a center of any process, or a carrier between
/// processes.
///
/// Two places have the same number about as often as two random 64-bit numbers are equal. This holds
/// for a center that has been released too: a notification that is posted again names such centers.
package struct PathStep: Hashable, Sendable {
  package let number: UInt64

  package init(number: UInt64) { self.number = number }
}
