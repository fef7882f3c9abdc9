import Campanile
import Synchronization

struct Tick: MessageCenter.Message, Equatable {
  var number: Int
}

struct Tock: MessageCenter.Message {}

/// A subject and an owner.
final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Int
}

/// Counts how many of it live.
final class Tracked: Sendable {
  let count: LiveCount
  init(_ count: LiveCount) {
    self.count = count
    count.value.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }
  deinit { count.value.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
  func touch() {}
}

final class LiveCount: Sendable {
  let value = Atomic<Int>(0)
  var current: Int { value.load(ordering: .sequentiallyConsistent) }
}

struct TestFailure: Error, Equatable {}
