import Campanile
import FuzzSupport

struct Tick: MessageCenter.Message {}
struct Moved: MessageCenter.Message { typealias Subject = Thing }

/// What a message can be about.
final class Thing: Sendable {}

/// Tells the run when it dies.
class Owner: @unchecked Sendable {
  // SAFETY: a fuzzer runs on one thread.
  let onDeath: () -> Void
  init(onDeath: @escaping () -> Void) { self.onDeath = onDeath }
  deinit { onDeath() }
}

/// An owner that ends its registrations itself.
final class OwnerWithLifetime: Owner, LifetimeOwner, @unchecked Sendable {
  let lifetime = Lifetime()
}

/// One input: operations on a message center, from outside and from inside its observers, beside a
/// list of what was registered that says at each call whether it is the right one.
///
/// Everything happens on one thread, inside each other.
final class ObserverListRun: @unchecked Sendable {
  /// A message: which observers it is for.
  struct Post {
    var isMoved: Bool
    var subject: ObjectIdentifier?
    /// The observer called last, and the newest that may be called.
    var last: Int
    let watermark: Int
  }

  struct Observer {
    enum Kind { case ticks, moves, movesOfOne, everything }
    let kind: Kind
    let subject: ObjectIdentifier?
    let isOnce: Bool
    let owner: Int?
    var hasEnded = false
    var pauses = 0
    var token: ObservationToken?
    var registration: Registration?
  }

  // SAFETY: a fuzzer runs on one thread.
  private var choices: Choices
  private let center = MessageCenter()
  /// Empty once the run has gone.
  let cage = Canary.Cage()
  private var observers: [Observer] = []
  private var posts: [Post] = []
  private var things: [Thing] = [Thing(), Thing()]
  private var owners: [Owner?] = []

  init(_ choices: Choices) {
    self.choices = choices
    for _ in 0..<2 { addOwner() }
  }

  func run() {
    while !choices.isAtEnd {
      step()
      require(
        center.observerCount == observers.count { !$0.hasEnded },
        "The center counts \(center.observerCount) observers")
    }
    for index in observers.indices { observers[index].token = nil }
    owners = []
    center.post(Tick())
    for thing in things { center.post(Moved(), about: thing) }
    things = []
  }

  private func step() {
    switch choices.pick(12) {
    case 0, 1: post()
    case 2, 3: observe()
    case 4: cancel()
    case 5: release()
    case 6: pause()
    case 7: resume()
    case 8: killOwner()
    case 9: removeOwned()
    case 10: things[choices.pick(2)] = Thing()
    default: cancelAndWait()
    }
  }

  // MARK: Posting

  private func post() {
    let kind = choices.pick(3)
    let thing = things[choices.pick(2)]
    let subject = kind == 2 ? ObjectIdentifier(thing) : nil
    posts.append(
      Post(isMoved: kind > 0, subject: subject, last: -1, watermark: observers.count - 1))
    switch kind {
    case 0: center.post(Tick())
    case 1: center.post(Moved())
    default: center.post(Moved(), about: thing)
    }
    let post = posts.removeLast()
    for index in stride(from: post.last + 1, through: post.watermark, by: 1) {
      require(!hears(observers[index], post), "Observer \(index) was not called")
    }
  }

  private func hears(_ observer: Observer, _ post: Post) -> Bool {
    if observer.hasEnded || observer.pauses > 0 { return false }
    return switch observer.kind {
    case .everything: true
    case .ticks: !post.isMoved
    case .moves: post.isMoved
    case .movesOfOne: post.isMoved && post.subject == observer.subject
    }
  }

  private func hear(_ index: Int) {
    guard let post = posts.last else { return require(false, "A call without a post") }
    require(index <= post.watermark, "Observer \(index) came after the post")
    require(index > post.last, "Observer \(index) was called after \(post.last)")
    for other in stride(from: post.last + 1, to: index, by: 1) {
      require(!hears(observers[other], post), "Observer \(other) was passed over")
    }
    require(hears(observers[index], post), "Observer \(index) is not to be called")
    posts[posts.count - 1].last = index
    if observers[index].isOnce { observers[index].hasEnded = true }
    if posts.count < 12 {
      for _ in 0..<choices.pick(3) { step() }
    }
  }

  // MARK: Registering and ending

  private func observe() {
    let index = observers.count
    guard index < 512 else { return }
    let kind: Observer.Kind = [.ticks, .moves, .movesOfOne, .everything][choices.pick(4)]
    let isOnce = choices.pick(4) == 1
    let thing = things[choices.pick(2)]
    let owner = choices.flip() && kind != .everything ? choices.pick(owners.count) : nil
    let living = owner.flatMap { owners[$0] }
    if owner != nil && living == nil { return }
    observers.append(
      Observer(
        kind: kind, subject: kind == .movesOfOne ? ObjectIdentifier(thing) : nil,
        isOnce: isOnce, owner: owner))
    let canary = Canary(cage)
    if let living {
      observers[index].registration = observe(index, kind, thing, living, isOnce, canary)
    } else {
      let token = observe(index, kind, thing, isOnce, canary)
      observers[index].registration = token.registration
      observers[index].token = token
    }
  }

  private func observe(
    _ index: Int, _ kind: Observer.Kind, _ thing: Thing, _ isOnce: Bool,
    _ canary: Canary
  ) -> ObservationToken {
    switch kind {
    case .ticks:
      center.observe(Tick.self, options: options(isOnce)) { [unowned self] _ in
        canary.check()
        hear(index)
      }
    case .moves:
      center.observe(Moved.self, options: options(isOnce)) { [unowned self] _ in
        canary.check()
        hear(index)
      }
    case .movesOfOne:
      center.messages(of: Moved.self, about: thing).observe(options: options(isOnce)) {
        [unowned self] _ in
        canary.check()
        hear(index)
      }
    case .everything:
      center.anyMessage.observe(options: options(isOnce)) { [unowned self] _ in
        canary.check()
        hear(index)
      }
    }
  }

  private func observe(
    _ index: Int, _ kind: Observer.Kind, _ thing: Thing, _ owner: Owner,
    _ isOnce: Bool, _ canary: Canary
  ) -> Registration {
    switch kind {
    case .ticks, .everything:
      center.observe(Tick.self, owner: owner, options: options(isOnce)) { [unowned self] _, _ in
        canary.check()
        hear(index)
      }
    case .moves:
      center.messages(of: Moved.self).withSubject.observe(owner: owner, options: options(isOnce)) {
        [unowned self] _, posted in
        require(
          posted.subject.map { ObjectIdentifier($0) } == posts[posts.count - 1].subject,
          "Observer \(index) was told another subject")
        canary.check()
        hear(index)
      }
    case .movesOfOne:
      center.messages(of: Moved.self, about: thing).observe(
        owner: owner, options: options(isOnce)
      ) { [unowned self] _, _ in
        canary.check()
        hear(index)
      }
    }
  }

  private func options<Source>(_ isOnce: Bool) -> ObservationOptions<Source> {
    isOnce ? .once : []
  }

  private func cancel() {
    guard let index = someObserver() else { return }
    let hadEnded = observers[index].hasEnded
    let result = observers[index].registration?.cancel()
    observers[index].hasEnded = true
    require(result != .endedWhileMaybeRunning, "Nobody else is calling observer \(index)")
    if !hadEnded { require(result == .ended, "Observer \(index) had not ended") }
  }

  private func cancelAndWait() {
    guard let index = someObserver() else { return }
    _ = observers[index].registration?.cancelAndWait()
    observers[index].hasEnded = true
  }

  private func release() {
    guard let index = someObserver(), observers[index].token != nil else { return }
    observers[index].hasEnded = true
    let token = observers[index].token.take()
    withExtendedLifetime(token) {}
  }

  private func pause() {
    guard let index = someObserver() else { return }
    observers[index].registration?.pause()
    observers[index].pauses += 1
  }

  private func resume() {
    guard let index = someObserver() else { return }
    observers[index].registration?.resume()
    observers[index].pauses = max(0, observers[index].pauses - 1)
  }

  private func someObserver() -> Int? {
    observers.isEmpty ? nil : observers.count - 1 - choices.pick(min(observers.count, 64))
  }

  // MARK: Owners

  private func addOwner() {
    let index = owners.count
    let die = { [unowned self] in
      for other in observers.indices where observers[other].owner == index {
        observers[other].hasEnded = true
      }
    }
    owners.append(index % 2 == 0 ? Owner(onDeath: die) : OwnerWithLifetime(onDeath: die))
  }

  private func killOwner() {
    let index = choices.pick(owners.count)
    let owner = owners[index].take()
    if owner != nil, owners.count < 64 { addOwner() }
    withExtendedLifetime(owner) {}
  }

  private func removeOwned() {
    let index = choices.pick(owners.count)
    guard let owner = owners[index] else { return }
    let onlyMoves = choices.flip()
    for other in observers.indices where observers[other].owner == index {
      if !onlyMoves || observers[other].kind != .ticks { observers[other].hasEnded = true }
    }
    if onlyMoves {
      center.removeObservers(ownedBy: owner, of: Moved.self)
    } else {
      center.removeObservers(ownedBy: owner)
    }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzObserverList(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  var run: ObserverListRun? = ObserverListRun(unsafe Choices(start, count))
  run?.run()
  let cage = run?.cage
  run = nil
  require(cage?.count == 0, "\(cage?.count ?? 0) closures were never released")
  return 0
}
