@testable import Campanile
@_exported import TestSupport

struct Tick: MessageCenter.Message, Equatable {
  var number: Int
}

struct Tock: MessageCenter.Message {}

/// A subject and an owner, of the kind that is current.
final class Player: Sendable {
  #if DEBUG
    let attachment = SubjectKind.current == .foreign ? SubjectAttachment() : nil
    /// For a size that nothing else has: memory that is freed becomes another player's.
    private let padding = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  #endif
}

#if DEBUG
  extension Player: ForeignStandIn {}
#endif

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
  var level: Int
}

struct TestFailure: Error, Equatable {}
