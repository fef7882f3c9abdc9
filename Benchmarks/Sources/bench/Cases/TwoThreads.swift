import Campanile
import Foundation
import OpenCombine

/// A second thread that posts too, or that adds and cancels observers meanwhile.
enum TwoThreads {
  static var cases: [Case] {
    [1, 10, 100].map(posting) + [1, 10, 100].map(churning)
  }

  // MARK: Both post

  private static func posting(_ count: Int) -> Case {
    let center = center(count)
    let sink = Sink()
    let source = PassthroughSubject<Message8, Never>()
    let tokens = (0..<count).map { _ in source.sink { look($0, sink) } }
    let subject = Shared((source, tokens))
    let notifications = NotificationCenter()
    let observers = (0..<count).map { _ in
      notifications.addObserver(forName: .measured, object: nil, queue: nil) {
        if $0.object != nil { sink.add(1) }
      }
    }
    var closures: [(Message8) -> Void] = []
    for _ in 0..<count { closures.append { look($0, sink) } }
    let bare = Shared(closures)
    let dictionary = dictionary(count)
    let key = ObjectIdentifier(Message8.self)
    let post: @Sendable (Int) -> Void = {
      for value in 0..<$0 { center.value.0.post(Message8(value)) }
    }
    let compute: @Sendable (Int) -> Void = { for value in 0..<$0 { blackHole(computed(value)) } }
    let foundation = Shared((notifications, observers))
    return Case(
      name: "post to \(count, "observer") on two threads",
      contenders: [
        both(Contender.ours, post), alone("one thread", post),
        both("B") { for value in 0..<$0 { BareLoop.send(Message8(value), to: bare.value) } },
        both("NotificationCenter") {
          for _ in 0..<$0 { foundation.value.0.post(name: .measured, object: nil) }
        },
        both("PassthroughSubject") {
          for value in 0..<$0 { subject.value.0.send(Message8(value)) }
        },
        both("dictionary") { for value in 0..<$0 { dictionary.post(Message8(value), key) } },
        both("computing on two", compute), alone("computing on one", compute),
      ],
      operationsPerIteration: 2, minimalCount: 200,
      notes: [
        Case.Note(
          text: "two cores that only compute", numerator: "computing on one",
          denominator: "computing on two")
      ])
  }

  /// What observers do that run on two threads: they read the message, and write nothing, since
  /// that would slow down every contender by the same large amount.
  ///
  /// Each captures a sink all the same, so that each has a context, as closures usually have.
  @inline(__always)
  private static func look(_ message: Message8, _ sink: Sink) {
    if message.value < 0 { sink.add(message.value) }
  }

  private static func computed(_ value: Int) -> Int {
    var value = value
    for _ in 0..<64 { value = (value &* 6_364_136_223_846_793_005) ^ (value &>> 7) }
    return value
  }

  /// Half of the iterations on each of two threads.
  private static func both(_ name: String, _ post: @escaping @Sendable (Int) -> Void) -> Contender {
    Contender(name) {
      .timed { iterations in
        Companion.shared.run({ post(iterations) }, beside: { post(iterations) })
      }
    }
  }

  /// All of the iterations on this thread.
  private static func alone(_ name: String, _ post: @escaping @Sendable (Int) -> Void) -> Contender
  {
    Contender(name) {
      .timed { iterations in time { post(2 * iterations) } }
    }
  }

  private static func center(_ count: Int) -> Shared<(MessageCenter, [ObservationToken])> {
    let center = MessageCenter()
    let sink = Sink()
    return Shared(
      (center, (0..<count).map { _ in center.observe(Message8.self) { look($0, sink) } }))
  }

  private static func dictionary(_ count: Int) -> MutexDictionary<ObjectIdentifier, Message8> {
    let center = MutexDictionary<ObjectIdentifier, Message8>()
    let sink = Sink()
    for _ in 0..<count { _ = center.observe(ObjectIdentifier(Message8.self)) { look($0, sink) } }
    return center
  }

  // MARK: One posts, the other adds and cancels

  private static func churning(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let fixture = Self.center(count)
      let sink = Sink()
      let center = fixture.value.0
      return .timed { iterations in
        Companion.shared.repeating({
          let token = center.observe(Message8.self) { look($0, sink) }
          token.cancel()
        }) {
          for value in 0..<iterations { center.post(Message8(value)) }
          withExtendedLifetime(fixture.value.1) {}
        }
      }
    }
    let foundation = Contender("NotificationCenter") {
      let center = NotificationCenter()
      let sink = Sink()
      func observe() -> any NSObjectProtocol {
        center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
      }
      let observers = (0..<count).map { _ in observe() }
      let observing = Shared(observe)
      return .timed { iterations in
        Companion.shared.repeating({ center.removeObserver(observing.value()) }) {
          for _ in 0..<iterations { center.post(name: .measured, object: nil) }
          withExtendedLifetime(observers) {}
        }
      }
    }
    let passthrough = Contender("PassthroughSubject") {
      let subject = PassthroughSubject<Message8, Never>()
      let sink = Sink()
      let tokens = (0..<count).map { _ in subject.sink { look($0, sink) } }
      let shared = Shared(subject)
      return .timed { iterations in
        Companion.shared.repeating({ shared.value.sink { look($0, sink) }.cancel() }) {
          for value in 0..<iterations { subject.send(Message8(value)) }
          withExtendedLifetime(tokens) {}
        }
      }
    }
    let dictionary = Contender("dictionary") {
      let center = Self.dictionary(count)
      let sink = Sink()
      let key = ObjectIdentifier(Message8.self)
      return .timed { iterations in
        Companion.shared.repeating({ center.remove(center.observe(key) { look($0, sink) }, key) }) {
          for value in 0..<iterations { center.post(Message8(value), key) }
        }
      }
    }
    return Case(
      name: "post to \(count, "observer") while others come and go",
      contenders: [ours, foundation, passthrough, dictionary], minimalCount: 200)
  }
}
