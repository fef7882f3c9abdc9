#if DEBUG
  import Testing

  @testable import Campanile
  @testable import CampanileFoundation

  /// Posts held after they have asked which lists have observers, while observers register in
  /// several lists.
  @Suite("Posts to several lists held before the watermark", .eachKindOfSubject, .ownThread)
  struct ListInterleavingTests {
    /// A center, and who was called, in the order of the calls.
    private final class HeldCenter: Sendable {
      let gates = CheckpointGates()
      let center: MessageCenter
      let heard = Recorder<String>()
      let player = Player()

      init() { center = MessageCenter(label: "", registry: gates.makeRegistry()) }

      func observe(_ name: String, about subject: Player? = nil) -> ObservationToken {
        guard let subject else {
          return center.messages(of: LevelChanged.self).observe { [heard] _ in heard.record(name) }
        }
        return center.messages(of: LevelChanged.self, about: subject).observe { [heard] _ in
          heard.record(name)
        }
      }

      func observeAny(_ name: String) -> ObservationToken {
        center.anyMessage.observe { [heard] _ in heard.record(name) }
      }

      /// Holds `post` before it reads the watermark, while `register` runs.
      func hold(
        _ post: @escaping @Sendable (MessageCenter) -> Void,
        while register: () -> [ObservationToken]
      ) -> [ObservationToken] {
        let gate = gates.hold(at: .announced)
        let wait = onThread { post(self.center) }
        gate.waitUntilReached()
        let tokens = register()
        gate.open()
        wait()
        return tokens
      }

      /// Whether those called are the first of those who registered.
      func heardFirst(of registered: [String]) -> Bool {
        heard.values == Array(registered.prefix(heard.count))
      }
    }

    /// Of what somebody becomes the first observer while a post is held.
    enum First: CaseIterable, Sendable { case any, subject, type, typeAboutASubject }

    @Test(
      "K2 Nobody is heard past an observer who was the first of a list", arguments: First.allCases)
    func firstOfAList(first: First) {
      let held = HeldCenter()
      let player = held.player
      let isOfType = first == .type || first == .typeAboutASubject
      let early = isOfType ? held.observeAny("early") : held.observe("early")
      let late = held.hold({ center in
        switch first {
        case .any, .type: center.post(LevelChanged(level: 0))
        case .subject, .typeAboutASubject: center.post(LevelChanged(level: 0), about: player)
        }
      }) {
        switch first {
        case .any: [held.observeAny("first"), held.observe("late")]
        case .subject: [held.observe("first", about: player), held.observe("late")]
        case .type, .typeAboutASubject: [held.observe("first"), held.observeAny("late")]
        }
      }
      #expect(held.heardFirst(of: ["early", "first", "late"]))
      withExtendedLifetime((early, late)) {}
    }

    @Test(
      "K2 Nobody is heard past an observer of a key, or of any, who was the first of these",
      arguments: [("key", nil), (nil, "key")] as [(String?, String?)])
    func firstOfKey(first: String?, second: String?) {
      let gates = CheckpointGates()
      let center = KeyedCenter<Int>(KeyTable(of: Int.self, gates.makeRegistry()))
      let heard = Recorder<String>()
      let observe = { (name: String, key: String?) in
        ObservationToken(
          center.register(
            .init(), ObserverBody { _ in heard.record(name) }, of: key, about: .none))
      }
      let early = observe("early", first)
      // From then on a post finds the topic without the lock, which is held at no gate.
      center.post(to: "key", about: nil) { 0 }
      let gate = gates.hold(at: .announced)
      let wait = onThread { center.post(to: "key", about: nil) { 0 } }
      gate.waitUntilReached()
      let late = [observe("first", second), observe("late", first)]
      gate.open()
      wait()
      #expect(heard.values == Array(["early", "early", "first", "late"].prefix(heard.count)))
      withExtendedLifetime((early, late)) {}
    }
  }
#endif
