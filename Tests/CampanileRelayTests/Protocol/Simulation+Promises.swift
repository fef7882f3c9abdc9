import TestSupport

@testable import CampanileRelay

/// What the members do and hear, and what has been promised about it.
extension Simulation {
  struct Posted {
    var subject: String
    var time: Int
    /// What was heard before this was posted.
    var question: Message.Key?
    /// How many questions led to it.
    var depth = 0
  }

  /// What one member did and heard.
  struct Record {
    /// The patterns, and since when each is in force.
    var patterns: [(pattern: SubjectPattern, since: Int?)] = []
    var heard: Set<Message.Key> = []
    var highest: [MemberID: UInt64] = [:]
    var lost: [Subject: Int] = [:]
    /// When it was last told of losses that nobody knows: what was posted later is not among them.
    var unknownLosses = 0
    var flushes: [UInt64: Flush] = [:]
    var requests: Set<UInt64> = []
  }

  struct Subject: Hashable {
    var sender: MemberID
    var subject: String
  }

  struct Flush {
    var time: Int
    /// The pattern that is in force when the flush ends.
    var pattern: Int?
    /// Who was open when the flush began.
    var present: [Process]
  }

  func post(_ process: Process, answering question: Message.Key?) {
    clock += 1
    let subject = ["a", "b", "c.d"][random.below(3)]
    var number: UInt64 = 0
    let payload = [UInt8](repeating: 0, count: random.chance(10) ? 200 : 1)
    let time = clock
    let depth = question.flatMap { posts[$0] }.map { $0.depth + 1 } ?? 0
    // The hub may hand it on within the call.
    perform(process) { member, actions in
      number = member.post(subject: subject, payload: payload, &actions)
      posts[Message.Key(sender: process.id, number: number)] = Posted(
        subject: subject, time: time, question: question, depth: depth)
    }
    note("\(process.id.rawValue) posts \(number) on \(subject), answering \(show(question))")
  }

  func subscribe(_ process: Process) {
    let texts = ["a", "b", "*", ">", "c.*"]
    guard let pattern = try? SubjectPattern(validating: texts[random.below(texts.count)]) else {
      return fail("A pattern is refused.")
    }
    note("\(process.id.rawValue) subscribes to \(pattern.text)")
    process.record.patterns.append((pattern, nil))
    perform(process) { $0.subscribe(pattern, &$1) }
    flush(process, for: process.record.patterns.count - 1)
  }

  func flush(_ process: Process, for pattern: Int?) {
    lastToken += 1
    let token = lastToken
    let present = processes.filter { $0.runs && $0.member.isOpen }
    process.record.flushes[token] = Flush(time: clock, pattern: pattern, present: present)
    perform(process) { $0.flush(token, &$1) }
  }

  func request(_ process: Process) {
    guard let pattern = try? SubjectPattern(validating: "q") else { return fail("refused") }
    if random.chance(30) {
      perform(process) { $0.answer(pattern, &$1) }
      return
    }
    lastToken += 1
    process.record.requests.insert(lastToken)
    perform(process) {
      $0.request(lastToken, subject: "q", payload: [], milliseconds: 500, &$1)
    }
  }

  func happened(_ action: MemberAction, at process: Process) {
    switch action {
    case .deliver(let message): heard(message, process)
    case .lost(let loss): lost(loss, process)
    // Its poster knows of it, and nobody else waits for it.
    case .dropped(let number, _):
      posts[Message.Key(sender: process.id, number: number)] = nil
    case .flushed(let token): flushed(token, process)
    case .requested(let request):
      perform(process) {
        $0.reply(to: request.from, request.correlation, .answered, payload: [], &$1)
      }
    case .replied(let correlation, _, _):
      if process.record.requests.remove(correlation) == nil { fail("A request ended twice.") }
    default: break
    }
  }

  private func heard(_ message: Message, _ process: Process) {
    let key = message.key
    note("\(process.id.rawValue) hears \(show(key)) at \(message.position)")
    guard let posted = posts[key], posted.subject == message.subject else {
      return fail("\(process.id.rawValue) hears \(show(key)), which nobody posted")
    }
    if key.number <= process.record.highest[key.sender] ?? 0 || key.sender == process.id {
      fail("\(process.id.rawValue) hears \(show(key)) twice or too late")
    }
    process.record.highest[key.sender] = key.number
    process.record.heard.insert(key)
    if let question = posted.question, lacks(question, process) {
      fail("\(process.id.rawValue) hears \(show(key)) before its question \(show(question))")
    }
    if posted.depth < 3, random.chance(30) { post(process, answering: key) }
  }

  private func lacks(_ key: Message.Key, _ process: Process) -> Bool {
    guard let posted = posts[key], isOwed(posted, key, to: process) else { return false }
    if process.record.heard.contains(key) || posted.time <= process.record.unknownLosses {
      return false
    }
    let subject = Subject(sender: key.sender, subject: posted.subject)
    if process.record.lost[subject] != nil { return false }
    // Those that were away may be the only ones that still have the question.
    return isKnown(key) { !$0.wasAway }
  }

  /// Whether a living member, one of some, has posted or heard a message.
  private func isKnown(
    _ key: Message.Key, to isOne: (Process) -> Bool = { _ in true }
  ) -> Bool {
    processes.contains {
      $0.isAlive && isOne($0) && ($0.id == key.sender || $0.record.heard.contains(key))
    }
  }

  /// Whether a subscription was in force before the message was posted.
  private func isOwed(_ posted: Posted, _ key: Message.Key, to process: Process) -> Bool {
    key.sender != process.id
      && process.record.patterns.contains { pattern, since in
        since.map { $0 < posted.time } ?? false && pattern.matches(posted.subject)
      }
  }

  private func lost(_ loss: Loss, _ process: Process) {
    note("\(process.id.rawValue) loses \(loss)")
    let isUsual =
      options.hasSlowMembers || options.stops || options.isDisorderly || options.logLimit < 100_000
    if loss.count == 0 {
      let lacksSome = posts.contains {
        isOwed($0.value, $0.key, to: process) && !process.record.heard.contains($0.key)
      }
      // It may be told of what came before a later subscription, or was counted.
      if process.record.patterns.count == 1, process.record.lost.isEmpty, !process.wasAway,
        !isUsual || !lacksSome
      {
        fail("\(process.id.rawValue) lacks nothing")
      }
      if isUsual { process.record.unknownLosses = clock }
      return
    }
    if !isUsual { fail("\(process.id.rawValue) loses \(loss)") }
    let subject = Subject(sender: loss.sender, subject: loss.subject)
    process.record.lost[subject, default: 0] += Int(loss.count)
  }

  private func flushed(_ token: UInt64, _ process: Process) {
    guard let flush = process.record.flushes.removeValue(forKey: token) else {
      return fail("A flush ended twice.")
    }
    note("\(process.id.rawValue) has flushed what it posted until \(flush.time)")
    if let pattern = flush.pattern { process.record.patterns[pattern].since = clock }
    guard !options.isDisorderly else { return }
    for other in flush.present where other.runs && !other.wasAway && other !== process {
      for (key, posted) in posts
      where key.sender == process.id && posted.time <= flush.time && lacks(key, other) {
        fail("\(other.id.rawValue) lacks \(show(key)), which \(process.id.rawValue) has flushed")
      }
    }
  }

  /// All that living members owe each other has been heard or has been counted as lost.
  func checkEnd() {
    let living = processes.filter(\.isAlive)
    for process in living {
      if !process.member.isOpen { fail("\(process.id.rawValue) is not open") }
      if !process.record.flushes.isEmpty { fail("\(process.id.rawValue) waits for a flush") }
    }
    for process in living {
      var missing: [Subject: [Message.Key]] = [:]
      var unheard: [Subject: Int] = [:]
      for (key, posted) in posts where !process.record.heard.contains(key) {
        let subject = Subject(sender: key.sender, subject: posted.subject)
        unheard[subject, default: 0] += 1
        if isKnown(key), isOwed(posted, key, to: process),
          posted.time > process.record.unknownLosses
        {
          missing[subject, default: []].append(key)
        }
      }
      for (subject, keys) in missing where keys.count > process.record.lost[subject] ?? 0 {
        let lost = process.record.lost[subject] ?? 0
        fail("\(process.id.rawValue) lacks \(keys.sorted().map(show)), lost \(lost)")
      }
      for (subject, count) in process.record.lost where count > unheard[subject] ?? 0 {
        fail("\(process.id.rawValue) is told \(count) losses of \(subject)")
      }
    }
  }

  private func show(_ key: Message.Key?) -> String {
    key.map { "\($0.sender.rawValue)#\($0.number)" } ?? "nothing"
  }
}
