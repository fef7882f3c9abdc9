import Campanile
import Foundation
import OpenCombine

/// Ending many observations of one source, one after the other or at once.
enum MassCanceling {
  static var cases: [Case] {
    [
      each(10_000, "in random order", Array(shuffled: 10_000), dictionary),
      each(100_000, "in order", Array(0..<100_000)),
      each(100_000, "in random order", Array(shuffled: 100_000)),
      bag(100_000),
    ]
  }

  private static func each(
    _ count: Int, _ text: String, _ order: [Int], _ more: (([Int]) -> Contender)? = nil
  ) -> Case {
    var contenders = [center(order), notificationCenter(order), passthrough(order)]
    if let more { contenders.append(more(order)) }
    return Case(
      name: "cancel each of \(count, "observer") \(text)", contenders: contenders,
      fixedCount: count, maximalRounds: 5)
  }

  private static func center(_ order: [Int]) -> Contender {
    Contender(Contender.ours) {
      .timed { count in
        let center = MessageCenter()
        let sink = Sink()
        let tokens = (0..<count).map { _ in center.observe(Message8.self) { sink.add($0.value) } }
        center.post(Message8(1))
        return time { for index in order { tokens[index].cancel() } }
      }
    }
  }

  private static func notificationCenter(_ order: [Int]) -> Contender {
    Contender("NotificationCenter") {
      .timed { count in
        let center = NotificationCenter()
        let sink = Sink()
        let observers = (0..<count).map { _ in
          center.addObserver(forName: .measured, object: nil, queue: nil) { _ in sink.add(1) }
        }
        return time { for index in order { center.removeObserver(observers[index]) } }
      }
    }
  }

  private static func passthrough(_ order: [Int]) -> Contender {
    Contender("PassthroughSubject") {
      .timed { count in
        let subject = PassthroughSubject<Message8, Never>()
        let sink = Sink()
        let tokens = (0..<count).map { _ in subject.sink { sink.add($0.value) } }
        return time { for index in order { tokens[index].cancel() } }
      }
    }
  }

  private static func dictionary(_ order: [Int]) -> Contender {
    Contender("dictionary") {
      .timed { count in
        let center = MutexDictionary<ObjectIdentifier, Message8>()
        let sink = Sink()
        let key = ObjectIdentifier(Message8.self)
        let ids = (0..<count).map { _ in center.observe(key) { sink.add($0.value) } }
        return time { for index in order { center.remove(ids[index], key) } }
      }
    }
  }

  private static func bag(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      .timed { count in
        let center = MessageCenter()
        let sink = Sink()
        let bag = TokenBag()
        for _ in 0..<count {
          center.observe(Message8.self) { sink.add($0.value) }.store(in: bag)
        }
        center.post(Message8(1))
        return time { bag.cancel() }
      }
    }
    let set = Contender("PassthroughSubject, set") {
      .timed { count in
        let subject = PassthroughSubject<Message8, Never>()
        let sink = Sink()
        var tokens: Set<AnyCancellable> = []
        for _ in 0..<count { subject.sink { sink.add($0.value) }.store(in: &tokens) }
        return time { tokens.removeAll() }
      }
    }
    return Case(
      name: "cancel a bag of \(count, "observer")",
      contenders: [ours, set, notificationCenter(Array(0..<count))],
      fixedCount: count, maximalRounds: 5)
  }
}

extension [Int] {
  /// The numbers below `count` in an order that is random, and the same in every run.
  init(shuffled count: Int) {
    var generator = FixedGenerator()
    self = (0..<count).shuffled(using: &generator)
  }
}

/// Random numbers that are the same in every run.
struct FixedGenerator: RandomNumberGenerator {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
