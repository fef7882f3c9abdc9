import Campanile

/// Posts to immediate observers.
enum Posting {
  static let counts = [0, 1, 10, 100, 1_000, 10_000]

  static var cases: [Case] {
    counts.map(send) + counts.map(post) + counts.dropFirst().map(owners) + [ownerCounting]
      + counts.map(subject)
      + counts.map(wildcard) + [1, 10, 100].map(countedWildcard)
      + [1, 10, 100].map(handedIn)
      + [1, 10, 100].map { payload(Message32.self, bytes: 32, $0) }
      + [1, 10, 100].map { payload(Message256.self, bytes: 256, $0) }
  }

  private static func others<M: Payload>(_ count: Int, of type: M.Type) -> [Contender] {
    [
      OtherPosting.bareLoop(count, of: type), OtherPosting.rawLoop(count, of: type),
      OtherPosting.passthrough(count, of: type), OtherPosting.dictionary(count, of: type),
    ]
  }

  private static func send(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let source = Broadcaster<Message8>()
      let sink = Sink()
      let tokens = (0..<count).map { _ in source.observe { sink.add($0.value) } }
      return .loop { iterations in
        for value in 0..<iterations { source.send(Message8(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "send to \(count, "observer") of a broadcaster",
      contenders: [ours] + others(count, of: Message8.self))
  }

  private static func center<M: Payload>(_ count: Int, of type: M.Type) -> Contender {
    Contender(Contender.ours) {
      let center = MessageCenter()
      let sink = Sink()
      let tokens = (0..<count).map { _ in center.observe(M.self) { sink.add($0.value) } }
      return .loop { iterations in
        for value in 0..<iterations { center.post(M(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  private static func post(_ count: Int) -> Case {
    // Written for this type, as a client would: in a generic function the closures get a thunk.
    let ours = Contender(Contender.ours) {
      let center = MessageCenter()
      let sink = Sink()
      let tokens = (0..<count).map { _ in
        center.observe(Message8.self) { sink.add($0.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "post to \(count, "observer")",
      contenders: [ours] + others(count, of: Message8.self) + [
        FoundationPosting.blocks(count), FoundationPosting.userInfo(count),
        FoundationPosting.typed(count),
      ])
  }

  private static func payload<M: Payload>(_ type: M.Type, bytes: Int, _ count: Int) -> Case {
    Case(
      name: "post \(bytes) bytes to \(count, "observer")",
      contenders: [center(count, of: type)] + others(count, of: type))
  }

  /// What it costs to keep an object for a moment, by what refers to the object besides.
  private static var ownerCounting: Case {
    func counting(_ name: String, _ refer: @escaping (Owner) -> Any) -> Contender {
      Contender(name) {
        let owner = Owner(Sink())
        let (reference, slot) = (refer(owner), opaque(OwnerSlot()))
        return .loop { iterations in
          for _ in 0..<iterations { slot.owner = opaque(owner) }
          withExtendedLifetime((reference, owner)) {}
        }
      }
    }
    return Case(
      name: "retain and release an owner",
      contenders: [
        counting(Contender.ours) { owner in
          let center = MessageCenter()
          center.observe(Message8.self, owner: owner) { $0.add($1.value) }
          return center
        },
        counting("no reference") { _ in 0 },
        counting("weak reference") { owner in { [weak owner] in owner?.add(1) } },
      ])
  }

  private final class OwnerSlot {
    var owner: Owner?
  }

  private static func owners(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = MessageCenter()
      let owners = (0..<count).map { _ in Owner(Sink()) }
      for owner in owners {
        center.observe(Message8.self, owner: owner) { $0.add($1.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime(owners) {}
      }
    }
    return Case(
      name: "post to \(count, "observer") with owners",
      contenders: [
        ours, OtherPosting.bareLoopWeakOwners(count), OtherPosting.rawLoopWeakOwners(count),
        OtherPosting.passthroughWeakOwners(count), OtherPosting.dictionaryWeakOwners(count),
        FoundationPosting.weakOwners(count),
      ])
  }

  private static func subject(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = MessageCenter()
      let sink = Sink()
      let subject = Subject()
      let tokens = (0..<count).map { _ in
        center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations { center.post(SubjectMessage(value), about: subject) }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "post about a subject to \(count, "observer")",
      contenders: [
        ours, OtherPosting.bareLoop(count, of: Message8.self),
        OtherPosting.rawLoop(count, of: Message8.self), OtherPosting.dictionarySubject(count),
        FoundationPosting.subject(count),
      ])
  }

  private static func wildcard(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = MessageCenter()
      let sink = Sink()
      var tokens = (0..<count).map { _ in
        center.observe(Message8.self) { sink.add($0.value) }
      }
      tokens.append(
        center.anyMessage.observe {
          if let message = $0.message as? Message8 { sink.add(message.value) }
        })
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
    return Case(
      name: "post to \(count, "observer") and one of all messages",
      contenders: [
        ours, OtherPosting.bareLoopWildcard(count), FoundationPosting.wildcard(count),
      ])
  }

  /// What an observer of all messages adds to a post, without what it does with them.
  private static func countedWildcard(_ count: Int) -> Case {
    Case(
      name: "post to \(count, "observer") and one that counts all messages",
      contenders: [
        beside(count, Contender.ours, isCounted: true),
        beside(count, "not counted", isCounted: false),
      ])
  }

  private static func beside(_ count: Int, _ name: String, isCounted: Bool) -> Contender {
    Contender(name) {
      let center = MessageCenter()
      let sink = Sink()
      var tokens = (0..<count).map { _ in
        center.observe(Message8.self) { sink.add($0.value) }
      }
      if isCounted { tokens.append(center.anyMessage.observe { _ in sink.add(1) }) }
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  // MARK: Closures that are handed in

  /// Makes an observer somewhere else, so that registering it sees a value and no literal.
  @inline(never) @_optimize(none)
  private static func observer(_ sink: Sink) -> @Sendable (Message8) -> Void {
    { sink.add($0.value) }
  }

  private static func handedIn(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let center = MessageCenter()
      let sink = Sink()
      let tokens = (0..<count).map { _ in center.observe(Message8.self, observer(sink)) }
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
    let bare = Contender("B") {
      var observers: [(Message8) -> Void] = []
      let sink = Sink()
      for _ in 0..<count { observers.append(observer(sink)) }
      let posted = opaque(observers)
      return .loop { iterations in
        for value in 0..<iterations { BareLoop.send(Message8(value), to: posted) }
      }
    }
    let raw = Contender("R") {
      let loop = RawLoop<Message8>(capacity: count)
      let sink = Sink()
      for _ in 0..<count { loop.observe(observer(sink)) }
      let posted = opaque(loop)
      return .loop { iterations in
        for value in 0..<iterations { posted.send(Message8(value)) }
      }
    }
    return Case(
      name: "post to \(count, "closure") handed in",
      contenders: [ours, bare, raw])
  }
}
