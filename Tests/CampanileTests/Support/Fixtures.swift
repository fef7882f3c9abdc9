import Campanile
@_exported import TestSupport

/// How long a test waits for what must come.
///
/// Only what never comes takes so long: on a busy machine, under a sanitizer, threads stand still for
/// seconds, and a task waits until every task before it has had its turn.
let patience = Duration.seconds(300)

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
