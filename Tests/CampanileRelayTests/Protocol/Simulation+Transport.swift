import TestSupport

@testable import CampanileRelay

/// What the transport does: connections, the election, deaths.
extension Simulation {
  var highest: UInt64 { UInt64(hubs.count) }

  func join(_ process: Process) {
    guard let hub = hubs.last, hub.isAlive else {
      claim(process)
      return join(process)
    }
    let link = nextLink(process, hub, generation: highest)
    process.link = link
    let isOwn = hub === process
    perform(process) { $0.connected(generation: link.generation, isOwnHub: isOwn, &$1) }
  }

  /// Makes a process the hub in the place of one that answers.
  func takeOver(_ process: Process) {
    guard process.member.isOpen, process !== hubs.last else { return }
    claim(process, hubAnswers: true)
    leave(process)
    join(process)
  }

  /// Makes a process the hub of the next generation.
  private func claim(_ process: Process, hubAnswers: Bool = false) {
    closeHub(of: process)
    let silent = hubs.last
    hubs.append(process)
    note("\(process.id.rawValue) claims \(highest)")
    let isSilent = silent?.isAlive == true && silent !== process && !hubAnswers
    let expected = processes.filter { $0.isAlive && !(isSilent && $0 === silent) }.map(\.id)
    process.hub = HubState(
      generation: highest, busID: 7, own: process.id, expected: expected,
      silent: isSilent ? silent?.id : nil,
      logLimit: options.logLimit)
  }

  /// A hub that has been superseded closes its connections.
  private func closeHub(of process: Process) {
    guard process.hub != nil else { return }
    note("\(process.id.rawValue) closes its hub")
    process.hub = nil
    for link in links where link.hub === process && link.hubIsOpen {
      link.hubIsOpen = false
      link.toHub.removeAll()
    }
  }

  func kill(_ process: Process) {
    note("\(process.id.rawValue) dies")
    process.isAlive = false
    process.hub = nil
    if let link = process.link { closeMember(link) }
    process.link = nil
    for link in links where link.hub === process && link.hubIsOpen {
      link.hubIsOpen = false
      link.toHub.removeAll()
      cut(&link.toMember)
    }
  }

  private func closeMember(_ link: Link) {
    link.memberIsOpen = false
    link.toMember.removeAll()
    cut(&link.toHub)
  }

  /// Only the first frames had been written.
  private func cut<Frame>(_ queue: inout Queue<Frame>) {
    var kept = Queue<Frame>()
    for _ in 0..<random.below(queue.count + 1) {
      if let frame = queue.popFirst() { kept.append(frame) }
    }
    queue = kept
  }

  func tick(_ process: Process) {
    if isSuperseded(process) { closeHub(of: process) }
    // The folder tells who is connected to an earlier one.
    if let link = process.link, link.generation < highest {
      leave(process)
      join(process)
    }
    perform(process) { $0.tick(isReading: true, &$1) }
    performHub(process) { hub, actions in
      for dead in processes where !dead.isAlive { hub.died(dead.id, &actions) }
      hub.tick(&actions)
    }
  }

  /// Whether a hub sees that there is a later one, when it handles what a connection has brought.
  private func isSuperseded(_ process: Process, at link: Link? = nil) -> Bool {
    guard let generation = process.hub?.generation, generation < highest else { return false }
    // A member claims a generation before it closes its connection.
    if let link, !link.memberIsOpen, hubs.last === link.member { return true }
    // A hub may have looked just before the next one began.
    return !random.chance(20)
  }

  /// Gives frames of a member to its hub, and returns whether there were any.
  @discardableResult
  func deliverToHub(_ link: Link, most: Int) -> Bool {
    let process = link.hub
    guard process.runs, link.hubIsOpen, process.hub?.generation == link.generation else {
      return false
    }
    if isSuperseded(process, at: link) {
      closeHub(of: process)
      return true
    }
    var isBusy = !link.toHub.isEmpty
    if !isBusy, link.isAccepted, link.memberIsOpen, !link.member.isSlow { return false }
    if !link.isAccepted {
      link.isAccepted = true
      process.hub?.connected(link.id)
    }
    performHub(process) { hub, actions in
      for _ in 0..<min(most, link.toHub.count) {
        guard let frame = link.toHub.popFirst() else { break }
        hub.received(frame, from: link.id, &actions)
      }
      hub.endRead(of: link.id, &actions)
    }
    if link.toMember.isEmpty, process.hub != nil {
      performHub(process) { hub, actions in hub.waiting(0, on: link.id, &actions) }
      if !link.toMember.isEmpty { isBusy = true }
    }
    if link.toHub.isEmpty, !link.memberIsOpen, link.hubIsOpen {
      isBusy = true
      link.hubIsOpen = false
      performHub(process) { hub, actions in hub.disconnected(link.id, &actions) }
    }
    return isBusy
  }

  /// Gives frames of a hub to its member, and returns whether there were any.
  @discardableResult
  func deliverToMember(_ link: Link, most: Int) -> Bool {
    let process = link.member
    guard process.runs, process.link === link else { return false }
    let isBusy = !link.toMember.isEmpty
    if !isBusy, link.hubIsOpen { return false }
    for _ in 0..<min(most, link.toMember.count) {
      guard let frame = link.toMember.popFirst() else { break }
      perform(process) { $0.received(frame, &$1) }
      // What it heard may have made it leave.
      guard process.link === link else { return true }
    }
    perform(process) { $0.endRead(&$1) }
    if link.toMember.isEmpty, !link.hubIsOpen {
      leave(process)
      return true
    }
    return isBusy
  }

  private func leave(_ process: Process) {
    guard let link = process.link else { return }
    closeMember(link)
    process.link = nil
    perform(process) { $0.disconnected(&$1) }
  }

  /// Lets a member do something, and does what it says.
  func perform(_ process: Process, _ body: (inout MemberState, inout [MemberAction]) -> Void) {
    var actions: [MemberAction] = []
    body(&process.member, &actions)
    for action in actions {
      switch action {
      case .send(let frame):
        guard let link = process.link, link.hubIsOpen else { continue }
        link.toHub.append(frame)
      case .silent(let generation):
        note("\(process.id.rawValue) hears nothing of \(generation)")
        leave(process)
        if highest == generation { claim(process) }
      default: happened(action, at: process)
      }
    }
  }

  private func performHub(
    _ process: Process, _ body: (inout HubState, inout [HubAction]) -> Void
  ) {
    guard process.hub != nil else { return }
    var actions: [HubAction] = []
    body(&process.hub!, &actions)
    for action in actions {
      switch action {
      case .send(let connections, let frame):
        for link in links where connections.contains(link.id) && link.memberIsOpen {
          link.toMember.append(frame)
        }
        // Its transport could not write that.
        for link in links where link.member.isSlow && connections.contains(link.id) {
          var none: [HubAction] = []
          process.hub?.waiting(Outgoing.window, on: link.id, &none)
        }
      case .close(let connection, let reason):
        guard let link = links.first(where: { $0.id == connection }) else { continue }
        link.hubIsOpen = false
        link.toHub.removeAll()
        if let reason { fail(reason) }
      case .opened: note("the hub of \(process.hub?.generation ?? 0) is open")
      }
    }
  }
}
