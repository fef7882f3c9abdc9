import Campanile
import CampanileFoundation
import Foundation

/// The waiting notifications of a queue, and the turns of the run loop that post them.
///
/// It outlives its queue for as long as a notification waits.
final class WaitingNotifications: Sendable {
  /// The key that coalescing notifications share.
  private enum Label: Hashable {
    case name(Notification.Name)
    case sender(WaitingSender)
    case nameAndSender(Notification.Name, WaitingSender)
  }

  private struct Entry {
    let notification: PostedNotification
    /// The object of the notification, or `nil` if it was in its deinit when it was enqueued.
    let sender: Sender?
  }

  /// When notifications may be posted.
  private struct Time: Hashable {
    let whenIdle: Bool
    let modes: Set<RunLoop.Mode>

    /// Whether a turn in `mode`, which was requested for `turnModes`, may post them.
    func isDue(in mode: RunLoop.Mode?, _ turnModes: Set<RunLoop.Mode>) -> Bool {
      modes == turnModes || mode.map { modes.includes($0) } ?? true
    }
  }

  /// Protected by the lock.
  private struct State {
    /// A line for each time for which a notification has been enqueued.
    ///
    /// So no turn steps over notifications of other times. A program has few such times.
    var lines: [Time: WaitingLine<Label, Entry>] = [:]
    /// The identifier of the newest entry of all lines.
    var lastID: UInt64 = 0
    /// The modes for which a turn has been requested.
    var scheduled: Set<Set<RunLoop.Mode>> = []

    mutating func append(_ entry: Entry, at time: Time, labels: [Label]) {
      lastID += 1
      lines[time, default: WaitingLine()].append(entry, id: lastID, labels: labels)
    }

    /// Whether an entry waits for a time for which `isMeant` returns `true`.
    func hasEntry(where isMeant: (Time) -> Bool) -> Bool {
      lines.contains { time, line in !line.isEmpty && isMeant(time) }
    }

    /// Removes the oldest entry of the times for which `isMeant` returns `true`, unless its
    /// identifier is greater than `last`.
    mutating func popFirst(upTo last: UInt64, where isMeant: (Time) -> Bool) -> Entry? {
      let times = lines.keys.filter(isMeant)
      let time = times.min { (lines[$0]?.firstID ?? .max) < (lines[$1]?.firstID ?? .max) }
      return time.flatMap { lines[$0]?.popFirst(upTo: last) }
    }

    /// Removes from each line what `removal` removes.
    mutating func remove(_ removal: (inout WaitingLine<Label, Entry>) -> [Entry]) -> [Entry] {
      var removed: [Entry] = []
      for time in Array(lines.keys) { removed += removal(&lines[time]!) }
      return removed
    }
  }

  let center: NotificationCenter
  private let state = Locked(State())

  init(_ center: NotificationCenter) { self.center = center }

  func append(_ notification: Notification, whenIdle: Bool, _ modes: [RunLoop.Mode]) {
    // Without a mode, no turn could ever post it.
    if modes.isEmpty { return }
    let modes = Set(modes)
    let sender = sender(of: notification)
    var rest = notification
    if sender == nil { rest.object = nil }
    let entry = Entry(notification: PostedNotification(rest), sender: sender)
    let time = Time(whenIdle: whenIdle, modes: modes)
    var labels = [Label.name(notification.name)]
    if let sender = sender.flatMap({ WaitingSender($0) }) {
      labels += [.sender(sender), .nameAndSender(notification.name, sender)]
    }
    let mustSchedule = state.withLock { state in
      state.append(entry, at: time, labels: labels)
      return state.scheduled.insert(modes).inserted
    }
    if mustSchedule { schedule(modes) }
  }

  func remove(matching notification: Notification, onName: Bool, onSender: Bool) {
    guard onName || onSender else { return }
    guard onSender else {
      let label = Label.name(notification.name)
      return remove { $0.removeAll(labeled: label) }
    }
    guard let sender = sender(of: notification), let waiting = WaitingSender(sender) else {
      return
    }
    let label: Label = onName ? .nameAndSender(notification.name, waiting) : .sender(waiting)
    guard case .value(let value) = sender else {
      remove { $0.removeAll(labeled: label) }
      return
    }
    // Compared outside the lock, since `==` of values is foreign code. No other thread removes
    // entries, because a queue is for one thread.
    let candidates = state.withLock { state in
      state.lines.values.flatMap { $0.elements(labeled: label) }
    }
    let ids = candidates.filter { candidate in
      if case .value(let other) = candidate.element.sender { value.isEqual(other) } else { false }
    }.map(\.id)
    remove { $0.removeAll(ids) }
  }

  /// The object of a notification, or `nil` if it is in its deinit.
  ///
  /// Such an object cannot be kept. Its address does not identify it either, since its memory may
  /// be on a stack.
  private func sender(of notification: Notification) -> Sender? {
    if let subject = notification.subject, isDeinitializing(subject) { return nil }
    return Sender(notification.object)
  }

  private func remove(_ removal: @Sendable (inout WaitingLine<Label, Entry>) -> [Entry]) {
    // Released here, outside the lock.
    let removed = state.withLock { $0.remove(removal) }
    withExtendedLifetime(removed) {}
  }

  private func schedule(_ modes: Set<RunLoop.Mode>) {
    Delivery.runLoop(.current, modes: modes.sorted { $0.rawValue < $1.rawValue }).perform {
      self.runTurn(modes)
    }
  }

  private func runTurn(_ modes: Set<RunLoop.Mode>) {
    let mode = RunLoop.current.currentMode
    // Decided when the turn begins: `.whenIdle` notifications are posted if no other one is due.
    let (last, isIdle) = state.withLock { state in
      state.scheduled.remove(modes)
      let isBusy = state.hasEntry { !$0.whenIdle && $0.isDue(in: mode, modes) }
      return (state.lastID, !isBusy)
    }
    while let entry = state.withLock({ state in
      state.popFirst(upTo: last) { $0.whenIdle == isIdle && $0.isDue(in: mode, modes) }
    }) {
      center.post(entry.notification.notification)
    }
    let mustSchedule = state.withLock { state in
      state.hasEntry { $0.modes == modes } && state.scheduled.insert(modes).inserted
    }
    if mustSchedule { schedule(modes) }
  }
}

/// The object of a waiting notification, as far as it is known without calling code of a value.
private enum WaitingSender: Hashable {
  case none
  case instance(ObjectIdentifier)
  /// A value with this hash.
  case value(Int)

  /// - Returns: `nil` for a value that cannot be compared, since it equals no other.
  init?(_ sender: Sender) {
    switch sender {
    case .any: self = .none
    case .instance(let instance): self = .instance(instance.key)
    case .value(let value):
      guard let hash = value.hash else { return nil }
      self = .value(hash)
    }
  }
}
