/// The priority of a task, as a plain number.
///
/// The standard library's type has a layout that is looked up whenever a value of it is stored.
struct Urgency: Sendable, Hashable, Comparable {
  private let rawValue: UInt8

  init(_ priority: TaskPriority) { rawValue = priority.rawValue }

  private init(rawValue: UInt8) { self.rawValue = rawValue }

  static let background = Urgency(rawValue: 9)
  static let medium = Urgency(rawValue: 21)
  static let high = Urgency(rawValue: 25)

  /// The caller's priority; medium for a thread without one.
  static var ofCaller: Urgency {
    let own = Urgency(Task.currentPriority)
    return own.rawValue == 0 ? .medium : own
  }

  var priority: TaskPriority { TaskPriority(rawValue: rawValue) }

  /// The number of the bit that represents it in a set.
  var bit: UInt8 { min(rawValue, 63) }

  static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}
