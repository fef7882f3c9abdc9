import Dispatch
import Synchronization

extension Implementation {
  static let dictionary = Implementation(
    name: "Dictionary under a mutex",
    abilities: [.subjects, .wildcards, .queues, .concurrency, .nesting], patience: 20
  ) { DictionaryCenter() }
}

/// The design that most centers begin as: arrays of closures in a dictionary, under a mutex.
///
/// A post copies what it finds and calls it without the lock. It is written here for comparison, as
/// well as such a thing is usually written.
private final class DictionaryCenter: Source {
  private struct Key: Hashable {
    let name: String?
    let subject: ObjectIdentifier?
  }

  private struct Entry {
    let id: Int
    let queue: DispatchQueue?
    let observer: @Sendable (Int) throws -> Void
  }

  private struct State {
    var entries: [Key: [Entry]] = [:]
    var lastID = 0
  }

  private let state = Mutex(State())

  func post(_ number: Int) { post(number, subject: nil) }
  func post(_ number: Int, about subject: Bell) { post(number, subject: ObjectIdentifier(subject)) }

  private func post(_ number: Int, subject: ObjectIdentifier?) {
    var keys: [Key] = [Key(name: "Rung", subject: nil), Key(name: nil, subject: nil)]
    if let subject { keys.insert(Key(name: "Rung", subject: subject), at: 0) }
    let entries = state.withLock { state in keys.flatMap { state.entries[$0] ?? [] } }
    for entry in entries {
      if let queue = entry.queue {
        queue.async { try? entry.observer(number) }
      } else {
        try? entry.observer(number)
      }
    }
  }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    let key = Key(
      name: wish.isWildcard ? nil : "Rung", subject: wish.subject.map { ObjectIdentifier($0) })
    let id = state.withLock { state in
      state.lastID += 1
      state.entries[key, default: []].append(
        Entry(id: state.lastID, queue: wish.place?.queue, observer: observer))
      return state.lastID
    }
    return Handle(cancel: { [weak self] in
      self?.state.withLock { $0.entries[key]?.removeAll { $0.id == id } }
    })
  }
}
