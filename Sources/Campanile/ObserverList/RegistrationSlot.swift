/// The place of a registration that has not ended.
///
/// It consists of plain words, which are valid while the registry's lock is held, for a caller that
/// keeps the registration.
@safe enum RegistrationSlot {
  /// At a place of a list.
  case place(Unmanaged<ObserverList>, Int)
  /// Alone with its subject, at a place of an index.
  case single(Unmanaged<SubjectIndex>, Int, Single)

  /// The observer, while the registration has not ended.
  func observer(_ held: borrowing ObserverRegistry.Held) -> Unmanaged<AnyObserver> {
    switch self {
    case .place(let list, let place):
      unsafe list._withUnsafeGuaranteedRef { unsafe $0.observer(at: place, held) }
    case .single(_, _, let single): unsafe ObserverList.observer(at: single.address)
    }
  }

  /// Removes the registration, so that no later post finds it.
  ///
  /// - Returns: The observer, which the caller owns from here on.
  func take(
    _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<AnyObserver> {
    switch self {
    case .place(let list, let place):
      unsafe list._withUnsafeGuaranteedRef { list in
        let observer = unsafe list.take(at: place, held)
        if list.isEmpty { list.leaveHome(&garbage, held) }
        return unsafe observer
      }
    case .single(let index, let place, let single):
      unsafe index._withUnsafeGuaranteedRef { unsafe $0.take(single, at: place, &garbage, held) }
    }
  }

  /// Gives memory back after that, around the reading of the reservations.
  ///
  /// - Parameter scan: Reads the reservations, and returns the posts in progress.
  @inline(__always)
  func trim(_ held: borrowing ObserverRegistry.Held, _ scan: () -> [Ticket]) -> [Ticket] {
    switch self {
    case .place(let list, _): return unsafe list._withUnsafeGuaranteedRef { $0.trim(held, scan) }
    case .single: return scan()
    }
  }

  /// Moves to smaller memory when most of it is empty.
  ///
  /// The old memory was in reach of posts until now, so the reservations must be read again.
  func shrink(_ held: borrowing ObserverRegistry.Held) -> Garbage.Piece? {
    switch self {
    case .place(let list, _): unsafe list._withUnsafeGuaranteedRef { $0.shrink(held) }
    case .single(let index, _, _): unsafe index._withUnsafeGuaranteedRef { $0.shrink(held) }
    }
  }
}

/// The place for a new registration.
///
/// It consists of plain words, which are valid while the registry's lock is held: a source keeps
/// its lists, and a list its groups.
@safe enum Destination {
  case place(Unmanaged<ObserverList>)
  /// With the registrations about one subject, which the caller keeps alive.
  case about(SubjectName, Unmanaged<TopicList>)

  static func list(_ list: ObserverList) -> Destination {
    unsafe .place(Unmanaged.passUnretained(list))
  }

  static func subject(_ subject: SubjectName, _ topic: TopicList) -> Destination {
    unsafe .about(subject, Unmanaged.passUnretained(topic))
  }

  /// The group of the destination's list for a target, made if there is none.
  func group(
    for target: any DeliveryTarget, _ mailbox: Mailbox, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> Destination {
    unsafe list(&garbage, held)._withUnsafeGuaranteedRef {
      .list($0.group(for: target, mailbox, &garbage, held).list)
    }
  }

  /// The list of the destination, made if there is none.
  func list(
    _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<ObserverList> {
    switch self {
    case .place(let list): return unsafe list
    case .about(let subject, let topic):
      return unsafe topic._withUnsafeGuaranteedRef { topic in
        unsafe Unmanaged.passUnretained(topic.subjects.makeList(about: subject, &garbage, held))
      }
    }
  }
}

/// A registration that has not ended, with its observer.
struct LiveRegistration {
  let registration: Registration
  let observer: AnyObserver
}

extension ObserverList {
  /// The place of a registration of this list, if it has not ended.
  func slot(
    of id: UInt64, _ companion: Registration.Companion, _ held: borrowing ObserverRegistry.Held
  ) -> RegistrationSlot? {
    guard case .subject(let subject) = companion else {
      return place(of: id, held).map { unsafe .place(Unmanaged.passUnretained(self), $0) }
    }
    // SAFETY: a registration that knows its subject was made with a topic.
    let topic = unsafe unsafeDowncast(self, to: TopicList.self)
    return topic.subjects.slot(of: id, about: subject.word, held)
  }
}

extension Registration {
  /// The place of the registration, if it has not ended.
  func slot(_ held: borrowing ObserverRegistry.Held) -> RegistrationSlot? {
    list.slot(of: id, companion, held)
  }

  /// The subject of the registration, or `nil` for any.
  var subject: ObjectIdentifier? {
    if case .subject(let subject) = companion { return subject.id }
    return list.topic.subject?.id
  }
}
