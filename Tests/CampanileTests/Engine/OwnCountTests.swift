import Testing

@testable import Campanile

// The package refers to everything weakly if it is built so.
#if !WEAK_OWNERS
  @Suite("Objects keep their own reference counts", .ownThread)
  struct OwnCountTests {
    private actor Statistics {
      func note(_ value: Int) {}
    }

    private final class Member: Sendable {
      func note(_ value: Int) {}
    }

    /// A way to refer to an object, and what keeps the reference.
    struct Door: CustomTestStringConvertible, Sendable {
      let testDescription: String
      let open: @Sendable () async throws -> (object: AnyObject, keeper: Any)
    }

    private static let doors = [
      Door(testDescription: "an owner") {
        let (source, member) = (Broadcaster<Int>(), Member())
        source.observe(owner: member) { $0.note($1) }
        source.send(1)
        return (member, source)
      },
      Door(testDescription: "an actor") {
        let (source, statistics) = (Broadcaster<Int>(), Statistics())
        source.observe(on: statistics) { $0.note($1) }
        try await source.sendAndWait(1)
        return (statistics, source)
      },
      Door(testDescription: "a member of a multicast") {
        let (multicast, member) = (Multicast<Member>(), Member())
        multicast.add(member)
        multicast.call { $0.note(1) }
        return (member, multicast)
      },
      Door(testDescription: "a member of a multicast of any objects") {
        let (multicast, member) = (Multicast<any AnyObject & Sendable>(), Member())
        multicast.add(member)
        multicast.call { _ in }
        return (member, multicast)
      },
      Door(testDescription: "a broadcaster with a sequence") {
        let source = Broadcaster<Int>()
        return (source, source.values().makeAsyncIterator())
      },
      Door(testDescription: "a state with a sequence") {
        let state = CurrentValue(1)
        return (state, state.values().makeAsyncIterator())
      },
      Door(testDescription: "a center with a sequence of messages") {
        let center = MessageCenter()
        return (center, center.messages(of: Tick.self).values().makeAsyncIterator())
      },
      Door(testDescription: "a center with a sequence of messages about a subject") {
        let center = MessageCenter()
        let messages = center.messages(of: LevelChanged.self, about: Player())
        return (center, messages.values().makeAsyncIterator())
      },
      Door(testDescription: "a center with a sequence of any message") {
        let center = MessageCenter()
        return (center, center.anyMessage.values().makeAsyncIterator())
      },
    ]

    @Test("K8 What refers to an object leaves its reference count where it is", arguments: doors)
    func unharmed(door: Door) async throws {
      let (object, keeper) = try await door.open()
      #expect(!isCountedAside(object))
      withExtendedLifetime(keeper) {}
    }

    @Test("A weak reference moves the count, and is found by that")
    func control() {
      let member = Member()
      #expect(!isCountedAside(member))
      weak let weakMember = member
      #expect(weakMember != nil)
      #expect(isCountedAside(member))
    }

    /// Whether the runtime has moved the reference count of an object into a side table, for the first
    /// weak reference to it: the two highest bits of the word behind the class say so.
    private func isCountedAside(_ object: AnyObject) -> Bool {
      withExtendedLifetime(object) {
        let address = unsafe Unmanaged.passUnretained(object).toOpaque()
        return unsafe address.load(fromByteOffset: 8, as: UInt64.self) >> 62 == 3
      }
    }
  }
#endif
