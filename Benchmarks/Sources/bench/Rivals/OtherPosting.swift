import OpenCombine

/// Contenders that send a value to observers on the thread that sends: the two loops, OpenCombine
/// and the dictionary.
enum OtherPosting {
  static func bareLoop<M: Payload>(_ count: Int, of type: M.Type) -> Contender {
    Contender("B") {
      var observers: [(M) -> Void] = []
      let sink = Sink()
      for _ in 0..<count { observers.append { sink.add($0.value) } }
      let posted = opaque(observers)
      return .loop { iterations in
        for value in 0..<iterations { BareLoop.send(M(value), to: posted) }
      }
    }
  }

  static func rawLoop<M: Payload>(_ count: Int, of type: M.Type) -> Contender {
    Contender("R") {
      let loop = RawLoop<M>(capacity: count)
      let sink = Sink()
      for _ in 0..<count { loop.observe { sink.add($0.value) } }
      let posted = opaque(loop)
      return .loop { iterations in
        for value in 0..<iterations { posted.send(M(value)) }
      }
    }
  }

  static func passthrough<M: Payload>(_ count: Int, of type: M.Type) -> Contender {
    Contender("PassthroughSubject") {
      let subject = PassthroughSubject<M, Never>()
      let sink = Sink()
      let tokens = (0..<count).map { _ in subject.sink { sink.add($0.value) } }
      return .loop { iterations in
        for value in 0..<iterations { subject.send(M(value)) }
        withExtendedLifetime(tokens) {}
      }
    }
  }

  static func dictionary<M: Payload>(_ count: Int, of type: M.Type) -> Contender {
    Contender("dictionary") {
      let center = MutexDictionary<ObjectIdentifier, M>()
      let sink = Sink()
      let key = ObjectIdentifier(M.self)
      for _ in 0..<count { _ = center.observe(key) { sink.add($0.value) } }
      return .loop { iterations in
        for value in 0..<iterations { center.post(M(value), key) }
      }
    }
  }

  // MARK: With owners

  static func bareLoopWeakOwners(_ count: Int) -> Contender {
    Contender("B, weak owners") {
      var observers: [(Message8) -> Void] = []
      let owners = (0..<count).map { _ in Owner(Sink()) }
      for owner in owners {
        observers.append { [weak owner] in owner?.add($0.value) }
      }
      let posted = opaque(observers)
      return .loop { iterations in
        for value in 0..<iterations { BareLoop.send(Message8(value), to: posted) }
        withExtendedLifetime(owners) {}
      }
    }
  }

  static func rawLoopWeakOwners(_ count: Int) -> Contender {
    Contender("R, weak owners") {
      let loop = RawOwnerLoop<Message8, Owner>(capacity: count)
      let owners = (0..<count).map { _ in Owner(Sink()) }
      for owner in owners { loop.observe(owner: owner) { $0.add($1.value) } }
      let posted = opaque(loop)
      return .loop { iterations in
        for value in 0..<iterations { posted.send(Message8(value)) }
        withExtendedLifetime(owners) {}
      }
    }
  }

  static func passthroughWeakOwners(_ count: Int) -> Contender {
    Contender("PassthroughSubject") {
      let subject = PassthroughSubject<Message8, Never>()
      let owners = (0..<count).map { _ in Owner(Sink()) }
      let tokens = owners.map { owner in
        subject.sink { [weak owner] in owner?.add($0.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations { subject.send(Message8(value)) }
        withExtendedLifetime((tokens, owners)) {}
      }
    }
  }

  static func dictionaryWeakOwners(_ count: Int) -> Contender {
    Contender("dictionary") {
      let center = MutexDictionary<ObjectIdentifier, Message8>()
      let owners = (0..<count).map { _ in Owner(Sink()) }
      let key = ObjectIdentifier(Message8.self)
      for owner in owners {
        _ = center.observe(key) { [weak owner] in owner?.add($0.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations { center.post(Message8(value), key) }
        withExtendedLifetime(owners) {}
      }
    }
  }

  // MARK: With a subject, and with an observer of everything

  static func dictionarySubject(_ count: Int) -> Contender {
    Contender("dictionary") {
      let center = MutexDictionary<ObjectIdentifier, SubjectMessage>()
      let sink = Sink()
      let subject = Subject()
      for _ in 0..<count {
        _ = center.observe(ObjectIdentifier(subject)) { sink.add($0.value) }
      }
      return .loop { iterations in
        for value in 0..<iterations {
          center.post(SubjectMessage(value), ObjectIdentifier(subject))
        }
        withExtendedLifetime(subject) {}
      }
    }
  }

  static func bareLoopWildcard(_ count: Int) -> Contender {
    Contender("B") {
      var observers: [(Message8) -> Void] = []
      let sink = Sink()
      for _ in 0..<count { observers.append { sink.add($0.value) } }
      var all: [(any Sendable) -> Void] = []
      all.append { if let message = $0 as? Message8 { sink.add(message.value) } }
      let (posted, postedToAll) = opaque((observers, all))
      return .loop { iterations in
        for value in 0..<iterations {
          let message = Message8(value)
          BareLoop.send(message, to: posted)
          BareLoop.send(message, to: postedToAll)
        }
      }
    }
  }
}
