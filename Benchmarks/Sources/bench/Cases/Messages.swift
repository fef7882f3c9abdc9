import Campanile

/// What the cases post: a number that observers add up, and as many bytes as the type has.
protocol Payload: MessageCenter.Message, BitwiseCopyable {
  init(_ value: Int)
  var value: Int { get }
}

/// A message of 8 bytes.
struct Message8: Payload {
  var value: Int
  init(_ value: Int) { self.value = value }
}

/// A message of 32 bytes.
struct Message32: Payload {
  var value: Int
  var others = (1, 2, 3)
  init(_ value: Int) { self.value = value }
}

/// A message of 256 bytes.
struct Message256: Payload {
  var value: Int
  var others: (Message32, Message32, Message32, Message32, Message32, Message32, Message32)
  var more = (1, 2, 3)
  init(_ value: Int) {
    self.value = value
    let other = Message32(value)
    others = (other, other, other, other, other, other, other)
  }
}

/// An object that messages are about.
final class Subject: Sendable {}

/// A message of 8 bytes about an object.
struct SubjectMessage: MessageCenter.Message {
  typealias Subject = bench.Subject
  var value: Int
  init(_ value: Int) { self.value = value }
}

/// Where observers add up what they hear.
///
/// Nothing is locked, so that adding costs one instruction for every contender alike: each sink is
/// for one thread at a time.
@safe
struct Sink: @unchecked Sendable {
  // SAFETY: a word that is never freed; there are as many as there are fixtures.
  private let total: UnsafeMutablePointer<Int>

  init() {
    unsafe total = .allocate(capacity: 1)
    unsafe total.initialize(to: 0)
  }

  var value: Int { unsafe total.pointee }

  @inline(__always)
  func add(_ value: Int) { unsafe total.pointee &+= value }
}

/// An object whose life bounds observations.
final class Owner: Sendable {
  private let sink: Sink
  init(_ sink: Sink) { self.sink = sink }

  @inline(__always)
  func add(_ value: Int) { sink.add(value) }
}
