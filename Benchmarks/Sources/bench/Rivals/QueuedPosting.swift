import Campanile
import Dispatch
import Foundation

/// A way to have messages heard elsewhere than on the thread that posts, with one observer.
struct QueuedPosting: Sendable {
  let name: String
  /// Makes the way, and returns what posts.
  let make: @Sendable (@escaping @Sendable (Message8) -> Void) -> (Message8) -> Void

  /// Campanile, on a dispatch queue.
  static let queue = QueuedPosting(name: Contender.ours) { observer in
    let center = MessageCenter()
    let queue = DispatchQueue(label: "observers")
    let token = center.observe(Message8.self, on: .queue(queue)) { observer($0) }
    return { message in
      center.post(message)
      withExtendedLifetime(token) {}
    }
  }

  /// Campanile, on an actor.
  static let actor = QueuedPosting(name: Contender.ours) { observer in
    let center = MessageCenter()
    let listener = Listener(observer)
    center.observe(Message8.self, on: listener) { $0.hear($1) }
    return { message in
      center.post(message)
      withExtendedLifetime(listener) {}
    }
  }

  /// Campanile, read by a task.
  static let sequence = QueuedPosting(name: Contender.ours) { observer in
    let center = MessageCenter()
    let messages = center.messages(of: Message8.self).values()
    let task = Task { for await message in messages { observer(message) } }
    return { message in
      center.post(message)
      withExtendedLifetime(task) {}
    }
  }

  static let dispatchAsync = QueuedPosting(name: "DispatchQueue.async") { observer in
    let queue = DispatchQueue(label: "observers")
    return { message in queue.async { observer(message) } }
  }

  static let operationQueue = QueuedPosting(name: "OperationQueue") { observer in
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return { message in queue.addOperation { observer(message) } }
  }

  static let asyncStream = QueuedPosting(name: "AsyncStream") { observer in
    let stream = ReadStream(.unbounded, observer)
    return { message in stream.continuation.yield(message) }
  }

  static let taskPerMessage = QueuedPosting(name: "task per message") { observer in
    let listener = Listener(observer)
    return { message in Task { await listener.hear(message) } }
  }
}

/// An actor that hears messages.
actor Listener {
  private let observer: @Sendable (Message8) -> Void
  init(_ observer: @escaping @Sendable (Message8) -> Void) { self.observer = observer }
  func hear(_ message: Message8) { observer(message) }
}

/// A stream that a task reads until this object ends.
final class ReadStream: Sendable {
  let continuation: AsyncStream<Message8>.Continuation

  init(
    _ policy: AsyncStream<Message8>.Continuation.BufferingPolicy,
    _ observer: @escaping @Sendable (Message8) -> Void
  ) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Message8.self, bufferingPolicy: policy)
    self.continuation = continuation
    Task { for await message in stream { observer(message) } }
  }

  deinit { continuation.finish() }
}
