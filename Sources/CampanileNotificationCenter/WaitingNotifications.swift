import Campanile
import CampanileFoundation
import Foundation

/// The notifications that wait in a queue, and the turns of the run loop that post them.
///
/// Outlives its queue for as long as something waits.
final class WaitingNotifications: Sendable {
  private struct Entry {
    let id: UInt64
    let notification: PostedNotification
    let sender: SenderValue?
    let whenIdle: Bool
    let modes: Set<RunLoop.Mode>

    /// Whether a turn in `mode`, which was asked for in `turnModes`, may post this.
    func isDue(in mode: RunLoop.Mode?, _ turnModes: Set<RunLoop.Mode>) -> Bool {
      modes == turnModes || mode.map { modes.contains($0) } ?? true
    }
  }

  /// Protected by the lock.
  private struct State {
    var entries = WaitingLine<Entry>()
    var lastID: UInt64 = 0
    /// The modes for which a turn has been asked for.
    var scheduled: Set<Set<RunLoop.Mode>> = []
  }

  let center: NotificationCenter
  private let state = Locked(State())

  init(_ center: NotificationCenter) { self.center = center }

  func append(_ notification: Notification, whenIdle: Bool, _ modes: [RunLoop.Mode]) {
    // No mode: nothing that could ever post it.
    if modes.isEmpty { return }
    let modes = Set(modes)
    let posted = PostedNotification(notification)
    let isValue = notification.object != nil && notification.subject == nil
    let sender = isValue ? SenderValue(notification.object as Any) : nil
    let mustSchedule = state.withLock { state in
      state.lastID += 1
      state.entries.append(
        Entry(
          id: state.lastID, notification: posted, sender: sender, whenIdle: whenIdle, modes: modes))
      return state.scheduled.insert(modes).inserted
    }
    if mustSchedule { schedule(modes) }
  }

  func remove(matching notification: Notification, onName: Bool, onSender: Bool) {
    guard onName || onSender else { return }
    // Compared outside the lock, since values compare in their own way. Nobody else removes what
    // waits: a queue is for one thread.
    let entries = state.withLock { Array($0.entries.elements) }
    let matching = entries.filter { entry in
      (!onName || entry.notification.name == notification.name)
        && (!onSender || isSame(entry, notification))
    }
    if matching.isEmpty { return }
    let ids = Set(matching.map(\.id))
    // Released here, outside the lock.
    _ = state.withLock { $0.entries.removeAll { ids.contains($0.id) } }
  }

  private func isSame(_ entry: Entry, _ notification: Notification) -> Bool {
    if let sender = entry.sender { return sender.isSender(of: notification) }
    guard let subject = entry.notification.subject else { return notification.object == nil }
    return subject === notification.subject
  }

  private func schedule(_ modes: Set<RunLoop.Mode>) {
    Delivery.runLoop(.current, modes: modes.sorted { $0.rawValue < $1.rawValue }).perform {
      self.runTurn(modes)
    }
  }

  private func runTurn(_ modes: Set<RunLoop.Mode>) {
    let mode = RunLoop.current.currentMode
    // Decided when the turn begins: what can wait is posted if nothing else is due.
    let (last, isIdle) = state.withLock { state in
      state.scheduled.remove(modes)
      let isBusy = state.entries.elements.contains { !$0.whenIdle && $0.isDue(in: mode, modes) }
      return (state.lastID, !isBusy)
    }
    while let notification = next(upTo: last, whenIdle: isIdle, in: mode, modes) {
      center.post(notification)
    }
    let mustSchedule = state.withLock { state in
      state.entries.elements.contains { $0.modes == modes }
        && state.scheduled.insert(modes).inserted
    }
    if mustSchedule { schedule(modes) }
  }

  private func next(
    upTo last: UInt64, whenIdle: Bool, in mode: RunLoop.Mode?, _ modes: Set<RunLoop.Mode>
  ) -> Notification? {
    let entry = state.withLock { state -> Entry? in
      state.entries.popFirst {
        $0.id <= last && $0.whenIdle == whenIdle && $0.isDue(in: mode, modes)
      }
    }
    return entry?.notification.notification
  }
}
