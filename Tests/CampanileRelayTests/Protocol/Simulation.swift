import TestSupport

@testable import CampanileRelay

/// Members and hubs that exchange frames in an order that a seed determines.
///
/// Processes die and stop at any step. What a dead process had sent arrives up to some frame.
final class Simulation {
  struct Options {
    var members = 5
    var steps = 150
    /// How many processes may die.
    var deaths = 3
    /// Processes stop and go on later.
    var stops = false
    /// Members become the hub though there is one that answers.
    var takesOver = false
    /// Members notice time at different rates: a hub may be taken for silent when it is not.
    var isDisorderly = false
    /// Some members read so slowly that messages for them are dropped.
    var hasSlowMembers = false
    /// The bytes of logs.
    var logLimit = 1 << 20
  }

  /// One process: a member, and for some time a hub.
  final class Process {
    let id: MemberID
    var member: MemberState
    var hub: HubState?
    var link: Link?
    var isAlive = true
    var isStopped = false
    /// Whether it was stopped at some time, or had to be repaired.
    var wasAway = false
    let isSlow: Bool
    var record = Record()

    init(_ id: MemberID, isSlow: Bool, logLimit: Int) {
      self.id = id
      self.isSlow = isSlow
      let buffering = isSlow ? RelayBuffering(.newest, 400) : .newest()
      member = MemberState(
        id: id, name: "\(id.rawValue)", processID: 0, buffering: buffering, logLimit: logLimit)
    }

    var runs: Bool { isAlive && !isStopped }
  }

  /// A connection, with the frames that are under way.
  final class Link {
    let id: ConnectionID
    let member: Process
    let hub: Process
    let generation: UInt64
    var toHub = Queue<MemberFrame>()
    var toMember = Queue<HubFrame>()
    var isAccepted = false
    var memberIsOpen = true
    var hubIsOpen = true

    init(_ id: Int, member: Process, hub: Process, generation: UInt64) {
      self.id = ConnectionID(rawValue: id)
      self.member = member
      self.hub = hub
      self.generation = generation
    }
  }

  let options: Options
  var random: SeededGenerator
  var processes: [Process] = []
  var links: [Link] = []
  /// Which process has claimed each generation, from 1.
  var hubs: [Process] = []
  var posts: [Message.Key: Posted] = [:]
  var clock = 0
  var lastToken: UInt64 = 0
  private var lastLink = 0
  var failures: [String] = []
  /// What happened, if it is asked for.
  var trace: [String]?

  init(seed: UInt64, _ options: Options, isTraced: Bool = false) {
    self.options = options
    random = SeededGenerator(seed)
    if isTraced { trace = [] }
  }

  func note(_ text: @autoclosure () -> String) {
    trace?.append(text())
  }

  /// Runs all steps, and returns which promises were broken.
  func run() -> [String] {
    // Links and flushes refer to the processes that refer to them.
    defer {
      for process in processes {
        process.link = nil
        process.record.flushes = [:]
      }
    }
    for _ in 0..<options.members { addProcess() }
    settle()
    for process in processes where !process.member.isOpen { fail("\(process.id) did not open") }
    for _ in 0..<options.steps where failures.isEmpty { step() }
    for process in processes where process.isStopped { resume(process) }
    settle()
    if failures.isEmpty { checkEnd() }
    return failures
  }

  func fail(_ text: String) {
    note("FAILED: \(text)")
    failures.append(text)
  }

  private func step() {
    let running = processes.filter(\.runs)
    switch random.below(100) {
    case 0..<55: deliverSomewhere()
    case 55..<80:
      if let process = running.randomElement(using: &random) { post(process, answering: nil) }
    case 80..<84:
      if let process = running.randomElement(using: &random) { flush(process, for: nil) }
    case 84..<86:
      if let process = running.randomElement(using: &random) { subscribe(process) }
    case 86..<88:
      if let process = running.randomElement(using: &random) { request(process) }
    case 88..<90:
      if processes.count < options.members + 2 { addProcess() }
    case 90..<92: killSomething()
    case 92..<96: stopOrResumeSomething()
    default:
      if options.takesOver, random.chance(40) {
        if let process = running.randomElement(using: &random) { takeOver(process) }
      } else {
        passTime()
      }
    }
  }

  private func addProcess() {
    let id = MemberID(rawValue: UInt64(processes.count + 1))
    let isSlow = options.hasSlowMembers && random.chance(50)
    let process = Process(id, isSlow: isSlow, logLimit: options.logLimit)
    processes.append(process)
    note("\(id.rawValue) begins")
    subscribe(process)
    join(process)
  }

  private func deliverSomewhere() {
    links.removeAll { !$0.hubIsOpen && !$0.memberIsOpen }
    guard let link = links.randomElement(using: &random) else { return }
    let most = random.chance(50) ? 2 : 30
    if random.chance(50) {
      deliverToHub(link, most: most)
    } else {
      deliverToMember(link, most: most)
    }
    for process in processes where process.runs && process.link == nil { join(process) }
  }

  private func killSomething() {
    let dead = processes.filter { !$0.isAlive }.count
    let living = processes.filter(\.isAlive)
    guard dead < options.deaths, living.count > 1 else { return }
    // Most often the hub.
    let victim = random.chance(60) ? hubs.last : living.randomElement(using: &random)
    if let victim, victim.isAlive { kill(victim) }
  }

  private func stopOrResumeSomething() {
    guard options.stops else { return }
    let stopped = processes.filter { $0.isAlive && $0.isStopped }
    if let process = stopped.randomElement(using: &random), random.chance(60) {
      resume(process)
      return
    }
    guard processes.filter(\.runs).count > 1 else { return }
    let process = random.chance(60) ? hubs.last : processes.randomElement(using: &random)
    guard let process, process.runs else { return }
    note("\(process.id.rawValue) stops")
    process.isStopped = true
    process.wasAway = true
  }

  private func resume(_ process: Process) {
    note("\(process.id.rawValue) goes on")
    process.isStopped = false
  }

  /// A tenth of a second passes: long enough for all that is under way.
  private func passTime() {
    if options.isDisorderly {
      if let process = processes.filter(\.runs).randomElement(using: &random) { tick(process) }
      return
    }
    // A silent hub is noticed after five times.
    for _ in 0..<(random.chance(70) ? 1 : 6) {
      drain()
      for process in processes where process.runs { tick(process) }
    }
  }

  /// Delivers until nothing is under way between those who run.
  private func drain() {
    for process in processes where process.runs && process.link == nil { join(process) }
    var isBusy = true
    while isBusy, failures.isEmpty {
      isBusy = false
      for link in links {
        if deliverToHub(link, most: .max) { isBusy = true }
        if deliverToMember(link, most: .max) { isBusy = true }
      }
      links.removeAll { !$0.hubIsOpen && !$0.memberIsOpen }
      for process in processes where process.runs && process.link == nil {
        join(process)
        isBusy = true
      }
    }
  }

  /// Lets enough time pass for all to be open.
  private func settle() {
    for _ in 0..<16 {
      drain()
      for process in processes where process.runs { tick(process) }
    }
    drain()
  }

  func nextLink(_ member: Process, _ hub: Process, generation: UInt64) -> Link {
    lastLink += 1
    let link = Link(lastLink, member: member, hub: hub, generation: generation)
    links.append(link)
    return link
  }
}
