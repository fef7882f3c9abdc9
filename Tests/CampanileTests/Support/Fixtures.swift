import Campanile
@_exported import TestSupport

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

struct TestFailure: Error, Equatable {}
