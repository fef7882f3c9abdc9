#if !DEBUG
  import Campanile
  import Dispatch
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

    enum Observed: CaseIterable { case name, object, value, everything, nameBesideObjects }

    // Broken by: NotificationCenter.post or NotificationContent.withNotification, if they put the
    // notification on the stack while observers run.
    @Test(
      "A nested post takes at most 600 bytes, its observer included", arguments: Observed.allCases)
    func bytes(observed: Observed) {
      let (center, levels, bell) = (Ours(), Levels(), Bell())
      let subject: Any = observed == .value ? 5 : bell
      let block: @Sendable (Notification) -> Void = { [weak center] _ in
        if levels.enter() { center?.post(name: .tick, object: nil) }
      }
      let aboutSubject: @Sendable (Notification) -> Void = { [weak center] notification in
        if levels.enter() { center?.post(name: .tick, object: notification.object) }
      }
      switch observed {
      case .name: center.add(.tick, nil, block)
      case .object, .value: center.add(.tick, subject, aboutSubject)
      case .everything: center.add(nil, nil, block)
      case .nameBesideObjects:
        center.add(.tick, bell) { _ in }
        center.add(.tick, nil, aboutSubject)
      }
      center.post(name: .tick, object: subject)
      #expect(levels.greatest > 0)
      #expect(levels.greatest <= 600)
    }

    // Broken by: what breaks the test above. At the end of its stack the program stops.
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
      done.wait()
      #expect(levels.count == count)
    }
  }
#endif
