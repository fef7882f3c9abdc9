/// Where a registration that has not ended stands.
///
/// Plain words, valid under the registry's lock, for a caller that keeps the registration.
@safe enum Seat {
  /// At a place of a list.
  case place(Unmanaged<ObserverList>, Int)
  /// Alone with its subject, at a place of an index.
  case single(Unmanaged<SubjectIndex>, Int, Single)

  /// The observer, while the registration has not ended.
  var observer: Unmanaged<AnyObserver> {
    switch self {
    case .place(let list, let place):
      unsafe list._withUnsafeGuaranteedRef { unsafe $0.observer(at: place) }
    case .single(_, _, let single): unsafe ObserverList.observer(at: single.address)
    }
  }

  /// Takes the registration out: no later post finds it.
  func take(_ garbage: inout Garbage) -> AnyObserver {
    switch self {
    case .place(let list, let place):
      return unsafe list._withUnsafeGuaranteedRef { list in
        let observer = list.take(at: place)
        if list.isEmpty { list.leaveHome(&garbage) }
        return observer
      }
    case .single(let index, let place, let single):
      return unsafe index._withUnsafeGuaranteedRef { $0.take(single, at: place, &garbage) }
    }
  }

  /// Gives memory back after that, around the reading of the frames.
  ///
  /// - Parameter scan: Reads the frames, and returns the posts in progress.
  func trim(_ scan: () -> [Ticket]) -> [Ticket] {
    switch self {
    case .place(let list, _): return unsafe list._withUnsafeGuaranteedRef { $0.trim(scan) }
    case .single: return scan()
    }
  }

  /// Moves to smaller memory when most of it is empty.
  ///
  /// What this leaves over was in reach of posts until now: the frames are to be read again.
  func shrink() -> Garbage.Piece? {
    switch self {
    case .place(let list, _): unsafe list._withUnsafeGuaranteedRef { $0.shrink() }
    case .single(let index, _, _): unsafe index._withUnsafeGuaranteedRef { $0.shrink() }
    }
  }
}

/// Where a new registration is to stand.
enum Destination {
  case list(ObserverList)
  /// With those about one subject.
  case subject(AnyObject, TopicList)

  /// The list of the destination, made if there is none.
  func list(_ garbage: inout Garbage) -> ObserverList {
    switch self {
    case .list(let list): list
    case .subject(let subject, let topic): topic.subjects.makeList(about: subject, &garbage)
    }
  }
}

/// A registration that has not ended, with its observer.
struct LiveRegistration {
  let registration: Registration
  let observer: AnyObserver
}

extension Registration {
  /// Where the registration stands, if it has not ended.
  ///
  /// Under the registry's lock.
  var seat: Seat? {
    guard case .subject(let subject) = companion else {
      return list.place(of: id).map { unsafe .place(Unmanaged.passUnretained(list), $0) }
    }
    // SAFETY: a registration that knows its subject was made with a topic.
    let topic = unsafe unsafeDowncast(list, to: TopicList.self)
    return topic.subjects.seat(of: id, about: subject.word)
  }

  /// What the registration hears of alone.
  var subject: ObjectIdentifier? {
    if case .subject(let subject) = companion { return subject.id }
    return list.topic.subject
  }
}

/// A subject's address, by which it is found and nothing else; one word, also in an enumeration.
@safe struct SubjectAddress: @unchecked Sendable {
  // SAFETY: the object is never looked at; it may have died.
  private let object: Unmanaged<AnyObject>

  init(_ subject: AnyObject) { unsafe object = Unmanaged.passUnretained(subject) }

  /// - Parameter word: what `word` gave.
  init(word: UInt) { unsafe object = Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: word)!) }

  var word: UInt { UInt(bitPattern: unsafe object.toOpaque()) }
  var id: ObjectIdentifier { unsafe unsafeBitCast(object.toOpaque(), to: ObjectIdentifier.self) }
}
