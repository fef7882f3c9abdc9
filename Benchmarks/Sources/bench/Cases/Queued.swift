import Campanile
import Dispatch
import Foundation
import Synchronization

/// Messages that are heard elsewhere: the time from the first post until the last was heard.
enum Queued {
  /// So many messages that waking a thread for the first of them does not count.
  private static let batch = 1_000

  static var cases: [Case] {
    let rivals: [QueuedPosting] = [
      .dispatchAsync, .operationQueue, .asyncStream, .taskPerMessage,
    ]
    return [
      Case(
        name: "message to a queue, until it is heard",
        contenders: ([.queue] + rivals).map(throughput), minimalCount: batch, remark: rate),
      Case(
        name: "message to an actor, until it is heard",
        contenders: ([.actor] + rivals).map(throughput), minimalCount: batch, remark: rate),
      Case(
        name: "message to an asynchronous sequence, until it is read",
        contenders: [QueuedPosting.sequence, .asyncStream, .dispatchAsync].map(throughput),
        minimalCount: batch, remark: rate),
      oneQueue(100), newest(64), oldest(64),
    ]
  }

  private static func rate(_ nanoseconds: Double) -> String {
    "\(Table.number(1_000 / nanoseconds)) million a second"
  }

  private static func throughput(_ posting: QueuedPosting) -> Contender {
    Contender(posting.name) {
      let arrivals = Arrivals()
      let sink = Sink()
      let post = posting.make { message in
        sink.add(message.value)
        arrivals.arrive()
      }
      return .loop { iterations in
        arrivals.expect(iterations)
        for value in 0..<iterations { post(Message8(value)) }
        arrivals.wait()
      }
    }
  }

  // MARK: Many observers on one queue

  private static func oneQueue(_ count: Int) -> Case {
    func contender(
      _ name: String, _ make: @escaping (@escaping @Sendable (Message8) -> Void) -> (Int) -> Void
    ) -> Contender {
      Contender(name) {
        let arrivals = Arrivals()
        let sink = Sink()
        // Every contender keeps the order for each observer: who has heard the last message has
        // heard all, and to count each would cost more than to deliver it.
        let post = make(observer(arrivals, sink))
        return .loop { iterations in
          arrivals.expect(count)
          for value in 1..<max(2, iterations) { post(value) }
          post(last.value)
          arrivals.wait()
        }
      }
    }
    let ours = contender(Contender.ours) { observer in
      let center = MessageCenter()
      let queue = DispatchQueue(label: "observers")
      let tokens = (0..<count).map { _ in
        center.observe(Message8.self, on: .queue(queue)) { observer($0) }
      }
      return { value in
        center.post(Message8(value))
        withExtendedLifetime(tokens) {}
      }
    }
    let dispatch = contender("DispatchQueue.async") { observer in
      let queue = DispatchQueue(label: "observers")
      let observers = (0..<count).map { _ in observer }
      return { value in
        for observer in observers { queue.async { observer(Message8(value)) } }
      }
    }
    let stream = contender("AsyncStream") { observer in
      let streams = (0..<count).map { _ in ReadStream(.unbounded, observer) }
      return { value in
        for stream in streams { stream.continuation.yield(Message8(value)) }
      }
    }
    let foundation = contender("NotificationCenter, queue") { observer in
      let center = NotificationCenter()
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      // The center waits for its blocks, so that they find the value of their own post here.
      let posted = PostedValue()
      let observers = (0..<count).map { _ in
        center.addObserver(forName: .measured, object: nil, queue: queue) { _ in
          observer(Message8(posted.value.load(ordering: .relaxed)))
        }
      }
      return { value in
        posted.value.store(value, ordering: .relaxed)
        center.post(name: .measured, object: nil)
        // The center does not keep the queue, and without it the observers hear nothing.
        withExtendedLifetime((observers, queue)) {}
      }
    }
    return Case(
      name: "delivery to one of \(count, "observer") on one queue",
      contenders: [ours, dispatch, stream, foundation], operationsPerIteration: count)
  }

  // MARK: Bounded buffers

  /// The last message of a batch, which is below zero.
  private static let last = Message8(-1)

  /// What observers do of which each hears the last message of a batch last.
  private static func observer(_ arrivals: Arrivals, _ sink: Sink) -> @Sendable (Message8) -> Void {
    { message in
      sink.add(message.value)
      if message.value < 0 { arrivals.arrive() }
    }
  }

  /// An observer with a bounded buffer; `sendLast` sees to it that the last message comes through.
  private static func ours(
    _ buffering: Buffering, sendLast: @escaping (MessageCenter, ObservationToken) -> Void
  ) -> Contender {
    Contender(Contender.ours) {
      let center = MessageCenter()
      let arrivals = Arrivals()
      let observer = observer(arrivals, Sink())
      let token = center.observe(
        Message8.self, on: .queue(DispatchQueue(label: "observers"), buffering: buffering)
      ) { observer($0) }
      return .loop { iterations in
        arrivals.expect(1)
        for value in 1..<max(2, iterations) { center.post(Message8(value)) }
        sendLast(center, token)
        arrivals.wait()
      }
    }
  }

  /// The same of a stream.
  private static func stream(
    _ policy: AsyncStream<Message8>.Continuation.BufferingPolicy,
    sendLast: @escaping (AsyncStream<Message8>.Continuation) -> Void
  ) -> Contender {
    Contender("AsyncStream") {
      let arrivals = Arrivals()
      let stream = ReadStream(policy, observer(arrivals, Sink()))
      return .loop { iterations in
        arrivals.expect(1)
        for value in 1..<max(2, iterations) { stream.continuation.yield(Message8(value)) }
        sendLast(stream.continuation)
        arrivals.wait()
      }
    }
  }

  private static func newest(_ capacity: Int) -> Case {
    let ours = ours(.newest(capacity)) { center, _ in center.post(last) }
    let stream = stream(.bufferingNewest(capacity)) { $0.yield(last) }
    return Case(
      name: "message to a queue, the newest \(capacity) wait", contenders: [ours, stream],
      minimalCount: batch)
  }

  private static func oldest(_ capacity: Int) -> Case {
    let ours = ours(.oldest(capacity)) { center, token in
      var dropped: Int
      repeat {  // until there is room
        // On a busy machine the observer's thread may wait for this one's core.
        sched_yield()
        dropped = token.registration.droppedCount
        center.post(last)
      } while token.registration.droppedCount != dropped
    }
    let stream = stream(.bufferingOldest(capacity)) { continuation in
      while case .dropped = continuation.yield(last) { sched_yield() }
    }
    return Case(
      name: "message to a queue, the oldest \(capacity) wait", contenders: [ours, stream],
      minimalCount: batch)
  }
}

/// A value that several threads read.
private final class PostedValue: Sendable {
  let value = Atomic(0)
}
