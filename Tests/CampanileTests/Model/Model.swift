/// What a source must do, said as plainly as possible: one thread, no table, no memory to reclaim.
///
/// Every place has an observer that is always there, so that a post always leaves something at each
/// place: whether it does for nobody is not promised.
final class Model {
  private final class Owner {
    var isReleased = false
    var callCount = 0
    var isAlive: Bool { !isReleased || callCount > 0 }
  }

  private final class Registered {
    let id: Int
    let spec: Spec
    let owner: Owner?
    var isEnded = false
    /// Whether the only call of one that wants no more has begun; when that returns, it has ended.
    var isUsedUp = false
    var pauseCount = 0
    var callCount = 0
    /// The newest value of a state that it has been called with, by its revision.
    var told = 0
    /// Whether it has missed something while it was paused.
    var hasMissed = false

    init(_ id: Int, _ spec: Spec, _ owner: Owner?) {
      self.id = id
      self.spec = spec
      self.owner = owner
    }

    var isLive: Bool { !isEnded && owner?.isAlive != false }
  }

  private struct Post {
    let number: Int
    let subject: Int?
    /// Registrations from here on do not hear it.
    let limit: Int
    var revision = 0
    /// Whom alone it is for: one that begins or resumes.
    var only: Registered?
  }

  private struct Mailbox {
    var waiting: [Post] = []
    var isBusy = false
    var isIdle: Bool { waiting.isEmpty && !isBusy }
  }

  private let isState: Bool
  private var registered: [Registered] = []
  private var slots: [Int: Registered] = [:]
  private var owners = (0..<Sequence.ownerCount).map { _ in Owner() }
  private var mailboxes = Array(repeating: Mailbox(), count: Sequence.placeCount)
  private var here: Int?
  // Of a state alone.
  private var value = 0
  private var revision = 1
  private var isTelling = false
  private var untold: [Post] = []

  private(set) var log: [String] = []
  /// Whether something was left at a place that may be for nobody.
  ///
  /// One whose owner has died went on after a pause. What the place does next is not promised.
  private(set) var isUnspecified = false

  init(isState: Bool) {
    self.isState = isState
    for place in 0..<Sequence.placeCount {
      add(Spec(slot: -1 - place, place: place))
    }
  }

  var liveCount: Int { registered.count { $0.isLive } }

  func play(_ step: Step) {
    switch step {
    case .observe(let spec):
      let new = add(spec)
      // A token that was in the slot is released; an owner's registration goes on without it.
      if let old = slots[spec.slot], old.owner == nil { old.isEnded = true }
      slots[spec.slot] = new
    case .cancel(let slot):
      guard let found = slots[slot] else { return }
      if found.owner == nil { log.append("cancel \(slot): \(found.isEnded ? "late" : "now")") }
      found.isEnded = true
    case .pause(let slot): slots[slot]?.pauseCount += 1
    case .resume(let slot):
      guard let found = slots[slot], found.pauseCount > 0 else { return }
      found.pauseCount -= 1
      if found.pauseCount == 0, found.spec.place != nil, !found.isEnded, !found.isLive {
        isUnspecified = true
      }
      if found.pauseCount == 0, found.hasMissed {
        found.hasMissed = false
        if found.isLive { tellNewest(to: found) }
      }
    case .release(let owner):
      owners[owner].isReleased = true
      owners[owner] = Owner()
    case .endAll(let owner):
      for found in registered where found.owner === owners[owner] { found.isEnded = true }
    case .post(let number, let subject): post(number, subject)
    case .postOn(let place, let number, let subject):
      run(place, atMost: .max)
      here = place
      post(number, subject)
      here = nil
      if place == Sequence.placeCount - 1 { run(place, atMost: .max) }
    case .runNext(let place):
      // A queue runs whatever waits.
      run(place, atMost: place == Sequence.placeCount - 1 ? .max : 1)
    case .runAll(let place): run(place, atMost: .max)
    }
  }

  // MARK: Registering

  @discardableResult
  private func add(_ spec: Spec) -> Registered {
    let new = Registered(registered.count, spec, spec.owner.map { owners[$0] })
    registered.append(new)
    if spec.isInitial { tellNewest(to: new) }
    return new
  }

  // MARK: Posting

  private func post(_ number: Int, _ subject: Int?) {
    var post = Post(number: number, subject: subject, limit: registered.count)
    guard isState else { return deliver(post) }
    value = number
    revision += 1
    post.revision = revision
    tell(post)
  }

  private func tellNewest(to one: Registered) {
    tell(Post(number: value, subject: nil, limit: .max, revision: revision, only: one))
  }

  private func tell(_ post: Post) {
    untold.append(post)
    if isTelling { return }
    isTelling = true
    while !untold.isEmpty { deliver(untold.removeFirst()) }
    isTelling = false
  }

  /// Leaves the post at the places, and calls who is called here.
  private func deliver(_ post: Post) {
    let places =
      post.only.map { $0.spec.place.map { [$0] } ?? [] } ?? Array(0..<Sequence.placeCount)
    var inline: Int?
    for place in places {
      if place == here && mailboxes[place].isIdle {
        mailboxes[place].isBusy = true
        inline = place
      } else {
        mailboxes[place].waiting.append(post)
      }
    }
    call(post, at: nil)
    if let inline {
      call(post, at: inline)
      mailboxes[inline].isBusy = false
    }
  }

  private func run(_ place: Int, atMost count: Int) {
    var left = count
    while left > 0, !mailboxes[place].waiting.isEmpty {
      let post = mailboxes[place].waiting.removeFirst()
      mailboxes[place].isBusy = true
      here = place
      call(post, at: place)
      here = nil
      mailboxes[place].isBusy = false
      left -= 1
    }
  }

  private func call(_ post: Post, at place: Int?) {
    if let only = post.only {
      if only.spec.place == place { call(only, post) }
      return
    }
    for found in registered.prefix(post.limit) where found.spec.place == place {
      let hears =
        switch found.spec.scope {
        case .every, .wild: true
        case .subject(let subject): subject == post.subject
        }
      if hears { call(found, post) }
    }
  }

  private func call(_ found: Registered, _ post: Post) {
    if !found.isLive || found.isUsedUp { return }
    if found.pauseCount > 0 {
      found.hasMissed = isState
      return
    }
    if isState {
      if post.revision <= found.told { return }
      found.told = post.revision
    }
    if found.spec.isOnce { found.isUsedUp = true }
    found.owner?.callCount += 1
    log.append("\(found.id) hears \(post.number)")
    found.callCount += 1
    if found.callCount == found.spec.reactsInCall + 1 { found.spec.reaction.forEach(play) }
    log.append("\(found.id) ends")
    found.owner?.callCount -= 1
    if found.isUsedUp { found.isEnded = true }
  }
}
