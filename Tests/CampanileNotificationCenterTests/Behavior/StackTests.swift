#if !DEBUG
  import Campanile
  import Dispatch
  import CampanileFoundation
  import CampanileNotificationCenter
  import Foundation
  import Testing

  /// What nested posts take of the stack, in release builds.
  @Suite("The stack of nested posts")
  struct StackTests {
    private typealias Ours = CampanileNotificationCenter.NotificationCenter

    /// Where an observer finds the stack at each level.
    private final class Levels: Sendable {
      private let found = Locked<[UInt]>([])
      private let limit: Int

      init(_ limit: Int = 32) { self.limit = limit }

      /// Notes the level, and says whether there are to be more.
      @inline(never)
      func enter() -> Bool {
        var here = 0
        // SAFETY: the address is not used as one.
        let address = unsafe withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
        return found.withLock { found in
          found.append(address)
          return found.count < limit
        }
      }

      var count: Int { found.withLock { $0.count } }

      /// The greatest distance between two levels.
      var greatest: Int {
        let found = found.withLock { $0 }
        return zip(found, found.dropFirst()).map { Int($0) - Int($1) }.max() ?? 0
      }
    }

    enum Observed: CaseIterable {
      case name, object, value, everything, nameBesideObjects, userInfo, notification, method, queue
      case source, owner
    }

    /// Observes with a method.
    private final class Listener: Sendable {
      private let levels: Levels
      private weak let center: Ours?

      init(_ center: Ours, _ levels: Levels) {
        self.center = center
        self.levels = levels
      }

      func hear(_ notification: Notification) {
        if levels.enter() { center?.post(name: .tick, object: nil) }
      }
    }

    @Test(
      "A nested post takes at most 720 bytes, or 960 to several lists, its observer included",
      arguments: Observed.allCases)
    func bytes(observed: Observed) async {
      let (center, levels, bell) = (Ours(), Levels(), Bell())
      let subject: Any = observed == .value ? 5 : bell
      let block: @Sendable (Notification) -> Void = { [weak center] _ in
        if levels.enter() { center?.post(name: .tick, object: nil) }
      }
      let aboutSubject: @Sendable (Notification) -> Void = { [weak center] notification in
        if levels.enter() { center?.post(name: .tick, object: notification.object) }
      }
      let listener = Listener(center, levels)
      var token: ObservationToken?
      switch observed {
      case .name: center.add(.tick, nil, block)
      case .object, .value: center.add(.tick, subject, aboutSubject)
      case .everything: center.add(nil, nil, block)
      case .nameBesideObjects:
        center.add(.tick, bell) { _ in }
        center.add(.tick, nil, aboutSubject)
      case .userInfo:
        center.add(.tick, nil) { [weak center] notification in
          if levels.enter() {
            center?.post(name: .tick, object: nil, userInfo: notification.userInfo)
          }
        }
      case .notification:
        center.add(.tick, nil) { [weak center] notification in
          if levels.enter() { center?.post(notification) }
        }
      case .method:
        center.addObserver(listener, selector: Listener.hear, name: .tick, object: nil)
      case .queue:
        _ = center.addObserver(forName: .tick, object: nil, queue: .main, using: block)
      case .source:
        token = center.observe(.tick) { [weak center] _ in
          if levels.enter() { center?.post(name: .tick, object: nil) }
        }
      case .owner:
        center.observe(.tick, owner: listener) { [weak center] _, _ in
          if levels.enter() { center?.post(name: .tick, object: nil) }
        }
      }
      if observed == .queue {
        await MainActor.run { center.post(name: .tick, object: nil) }
      } else {
        center.post(name: .tick, object: subject, userInfo: ["number": 1])
      }
      withExtendedLifetime((token, listener)) {}
      #expect(levels.greatest > 0)
      #expect(levels.greatest <= (observed == .nameBesideObjects ? 960 : 720), "\(observed)")
    }

    @Test(
      "A stack holds as many levels as the page says", arguments: [(512, 800), (8_192, 13_000)])
    func levels(kilobytes: Int, count: Int) {
      let (center, levels, done) = (Ours(), Levels(count), DispatchSemaphore(value: 0))
      center.add(.tick, nil) { [weak center] _ in
        if levels.enter() { center?.post(name: .tick, object: nil) }
      }
      let thread = Thread {
        center.post(name: .tick, object: nil)
        done.signal()
      }
      thread.stackSize = kilobytes * 1_024
      thread.start()
      done.waitPatiently()
      #expect(levels.count == count)
    }
  }
#endif
